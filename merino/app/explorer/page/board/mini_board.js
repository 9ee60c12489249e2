// A small board beside a move that is pointed at, or has the focus.

import { h, s } from "../base/dom.js";
import { FILES, boardOf } from "../base/fen.js";
import { imageOf, placeOf } from "./board.js";

const SIZE = 200; // pixels
/** @type {any} */
let box = null;

function squareRect(square, kind) {
    const [x, y] = placeOf(square);
    return s("rect", { x, y, width: 1, height: 1, class: kind });
}

function picture(square, letter) {
    const [x, y] = placeOf(square);
    return s("image", { x, y, width: 1, height: 1, href: imageOf(letter) });
}

/** A position as a picture, with the squares of the last move marked. */
export function boardPicture(fen, uci, size) {
    const squares = [...FILES].flatMap((file, column) =>
        [...Array(8).keys()].map((row) => squareRect(file + (row + 1), (column + row) % 2 ? "light" : "dark")),
    );
    const last = [uci.slice(0, 2), uci.slice(2, 4)].map((square) => squareRect(square, "moved"));
    const pieces = [...boardOf(fen)].map(([square, letter]) => picture(square, letter));
    return s("svg", { viewBox: "0 0 8 8", width: size, height: size, class: "mini" }, squares, last, pieces);
}

/** Show the position after a move beside an element. */
export function showBoard(element, fen, uci) {
    box ??= document.body.appendChild(h("div", { id: "mini-board", class: "mini-board", "aria-hidden": "true" }));
    box.replaceChildren(boardPicture(fen, uci, SIZE));
    const around = element.getBoundingClientRect();
    const below = around.bottom + 6;
    const top = below + SIZE < innerHeight ? below : Math.max(4, around.top - SIZE - 10);
    box.style.left = `${Math.max(4, Math.min(around.left, innerWidth - SIZE - 12))}px`;
    box.style.top = `${top}px`;
    box.hidden = false;
}

export function hideBoard() {
    if (box) box.hidden = true;
}
