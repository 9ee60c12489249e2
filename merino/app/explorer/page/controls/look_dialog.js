// The dialog in which the colours of the board and the pieces are chosen.

import { byId, h, replace, segments } from "../base/dom.js";
import { BOARDS, PIECES, chooseBoard, choosePieces, chosen } from "../base/look.js";
import { boardPicture } from "../board/mini_board.js";
import { changed, refresh } from "../state/store.js";

const SAMPLE = "2kr4/1pp2n2/2b5/8/4P3/3BQ3/2NP4/2K1R3 w - - 0 1"; // with a piece of every kind
const SIZE = 200; // pixels

const row = (id, title) =>
    h("div", { class: "look-row" }, h("span", { id: `${id}-label` }, title), h("div", { id, ...radios(id) }));
const radios = (id) => ({ class: "segments", role: "radiogroup", "aria-labelledby": `${id}-label` });

function draw() {
    segments(byId("look-board"), BOARDS, chosen.board, (name) => follow(chooseBoard, name));
    segments(byId("look-pieces"), PIECES, chosen.pieces, (name) => follow(choosePieces, name));
    replace(byId("look-sample"), boardPicture(SAMPLE, "d2d3", SIZE));
}

/** Choose, and let all that shows pieces follow. */
function follow(choose, name) {
    choose(name);
    draw();
    changed("view");
    refresh({ silent: true });
}

export function makeLook() {
    const dialog = byId("look-dialog");
    replace(
        dialog,
        h("h2", { id: "look-title" }, "Board and pieces"),
        h("div", { id: "look-sample", "aria-hidden": "true" }),
        row("look-board", "Board"),
        row("look-pieces", "Pieces"),
        h("form", { method: "dialog", class: "panel-bar" }, h("button", { class: "main" }, "Close")),
    );
    byId("look").onclick = () => {
        draw();
        dialog.showModal();
    };
}
