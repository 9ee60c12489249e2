// Where games come from: a file or a text that the page holds, or the file that the server was started with.
// A source tells its `name`, the list of its games piece by piece, a whole game by its entry in the list, and how the
// server is asked for a study of all of them.

import { get, post } from "../base/api.js";
import { base64, gamesText } from "../base/dom.js";

const FIRST_PIECE = 1 << 16; // bytes: enough games to fill the list at once
const PIECE = 1 << 20;
const MAX_STUDIED = 60e6; // bytes of a file whose games are studied together
const MAX_PIECE = 3 << 19; // in base64 the longest text that the server takes

/** The games of a file, or of a text as a Blob; the page reads it, and the server keeps nothing. */
export const ofFile = (file, name) => ({
    name,
    piece: (at) => pieceOf(file, at),
    game: async ({ start, size, number }) =>
        post("/api/game", { content: await base64(file.slice(start, start + size)), number }),
    request: async () => {
        if (file.size > MAX_STUDIED) throw new Error(`${name} is too large for this: give it on the command line`);
        return { files: [{ name, text: await gamesText(file) }] };
    },
});

/** The games of the file that the server reads. */
export const ofServer = (name) => ({
    name,
    piece: (at) => get(`/api/games?at=${at}`),
    game: ({ start, size, number }) => get(`/api/game?start=${start}&size=${size}&number=${number}`),
    request: async () => ({ file: true }),
});

/** Some games of a file from the byte `at` on, and where the `next` ones begin: null at its end. */
async function pieceOf(file, at) {
    let size = at ? PIECE : FIRST_PIECE;
    for (;;) {
        const isLast = at + size >= file.size;
        const more = !isLast && size < MAX_PIECE;
        const content = await base64(file.slice(at, at + size));
        const { games, next } = await post("/api/games", { content, at, more });
        if (next !== at) {
            const after = isLast ? null : (next ?? at + size);
            return { games, next: after, done: (after ?? file.size) / Math.max(1, file.size) };
        }
        size = Math.min(2 * size, MAX_PIECE);
    }
}
