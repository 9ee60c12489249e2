// What the page gives away: FEN, link, moves, PGN and JSON.

import { byId } from "../base/dom.js";
import { guarded, say } from "../base/flow.js";
import { saveFile } from "../base/files.js";
import { listed } from "../base/game.js";
import { post } from "../base/server.js";
import { playedGames } from "./play.js";
import { address, playedMoves, shown, state, tagsNow } from "../state/store.js";

const PGN = "application/x-chess-pgn";

async function copy(text, what) {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
    byId("hint").textContent = `${what} copied.`;
}

/** White and Black by the label of a game. */
function playersOf(label) {
    const [White, Black] = label.split(" - ");
    return White && Black ? { White, Black } : {};
}

/** The game on the board as PGN, with its variations, comments and signs. */
async function pgn() {
    const { fen, root, label } = state;
    const tags = { ...playersOf(label), ...tagsNow() };
    const { comment, commands } = root;
    return (await post("/api/pgn/text", { fen, tags, comment, commands, moves: listed(root) })).text;
}

/** The day of a moment where the user is, as PGN writes it. */
function dayOf(moment) {
    const day = new Date(moment);
    const numbers = [day.getFullYear(), day.getMonth() + 1, day.getDate()];
    return numbers.map((number) => String(number).padStart(2, "0")).join(".");
}

/** All games against Merino that were finished on this browser. */
async function playedPgn() {
    const texts = playedGames().map(async ({ fen, moves, label, score, at }) => {
        const tags = { Date: dayOf(at), ...playersOf(label), Result: score };
        return (await post("/api/pgn/text", { fen, tags, moves })).text;
    });
    return (await Promise.all(texts)).join("\n");
}

const sans = () => playedMoves().map((move) => move.san);

/** What each item of the menu does. */
const ACTIONS = {
    "copy-fen": () => copy(shown().fen, "FEN"),
    "copy-link": () => copy(location.origin + address(), "Link"),
    "copy-moves": () => copy(sans().join(" "), "Moves"),
    "save-pgn": async () => saveFile("game.pgn", await pgn(), PGN),
    "save-played": async () => saveFile("played.pgn", await playedPgn(), PGN),
    "save-json": () => saveFile("position.json", JSON.stringify(state.report, null, 2), "application/json"),
};

export function makeShare() {
    for (const [id, action] of Object.entries(ACTIONS)) {
        const act = guarded(async () => action());
        byId(id).onclick = () => {
            byId("share-menu").hidePopover();
            act();
        };
    }
}
