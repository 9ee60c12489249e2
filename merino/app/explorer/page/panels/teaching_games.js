// The games to learn from: PGN files that are dropped or chosen.

import { button, gamesText, h, plural, showError, tellError } from "../base/dom.js";

const MAX_BYTES = 60e6; // of all files
const KINDS = ".pgn,text/plain";

/** @type {{name: string, text: string}[]} */
let files = [];

export const chosenFiles = () => files;

const megabytes = (count) => (count < 1e5 ? `${Math.ceil(count / 1e3)} kB` : `${(count / 1e6).toFixed(1)} MB`);

/** Take these files too, but those taken already; `redraw` when they have been read. */
export async function addFiles(list, redraw) {
    try {
        const sizes = [...files.map((file) => file.text.length), ...[...list].map((file) => file.size)];
        if (sizes.reduce((sum, size) => sum + size, 0) > MAX_BYTES)
            throw new Error("these games are too many for the page: 'merino learn' in a shell takes them");
        for (const file of list) {
            const text = await gamesText(file);
            if (!/\[\s*\w+\s+"|\b1\s*\./.test(text)) throw new Error(`${file.name} holds no games`);
            files = [...files.filter((each) => each.name !== file.name), { name: file.name, text }];
        }
        showError(null);
    } catch (error) {
        tellError(error);
    }
    redraw();
}

function askForFiles(redraw) {
    const input = h("input", { type: "file", accept: KINDS, multiple: true });
    input.addEventListener("change", () => addFiles(input.files, redraw));
    input.click();
}

function fileItem(file, redraw) {
    const remove = () => {
        files = files.filter((each) => each !== file);
        redraw();
    };
    const label = `Take ${file.name} off`;
    return h(
        "li",
        {},
        h("span", { class: "file-name" }, file.name),
        h("span", { class: "note" }, megabytes(file.text.length)),
        h("button", { type: "button", class: "plain remove", "aria-label": label, title: label, onclick: remove }, "×"),
    );
}

/** The place where files are dropped, and the list of those there are. */
export function filesField(redraw) {
    const drop = (event) => {
        event.preventDefault();
        event.stopPropagation();
        addFiles(event.dataTransfer?.files ?? [], redraw);
    };
    return h(
        "div",
        { class: "drop-place", id: "learn-drop", ondrop: drop },
        button("learn-open", "Choose PGN files", () => askForFiles(redraw)),
        h("span", { class: "note" }, files.length ? plural(files.length, "file") : "or drop them here"),
        h(
            "ul",
            { id: "learn-files", class: "files", "aria-label": "Files of games" },
            files.map((file) => fileItem(file, redraw)),
        ),
    );
}
