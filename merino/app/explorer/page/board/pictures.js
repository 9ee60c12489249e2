// A board that is only looked at, next to a move that is pointed at.

import { h, s } from "../base/dom.js";
import { FILES, boardOf, pieceAddress, squaresOf } from "../base/game.js";
import { placeOf } from "./board.js";

const SIZE = 200; // pixels of the small board

function cell(selector, square, more = {}) {
    const [x, y] = placeOf(square);
    return s(selector, { x, y, width: 1, height: 1, ...more });
}

/** A position as a picture, with the squares of the last move marked. */
export function boardPicture(fen, uci) {
    const squares = [...FILES].flatMap((file, column) =>
        [..."12345678"].map((rank, row) => cell((column + row) % 2 ? "rect.light" : "rect.dark", file + rank)),
    );
    const last = squaresOf(uci).map((square) => cell("rect.moved", square));
    const pieces = [...boardOf(fen)].map(([square, letter]) => cell("image", square, { href: pieceAddress(letter) }));
    return s("svg.mini", { viewBox: "0 0 8 8", width: SIZE, height: SIZE }, squares, last, pieces);
}

/** Put a box below an element, or above where there is no room, inside the window. */
function placeNear(box, element) {
    const around = element.getBoundingClientRect(),
        { width, height } = box.getBoundingClientRect();
    const below = around.bottom + 8;
    const top = below + height < innerHeight ? below : Math.max(8, around.top - height - 8);
    box.style.top = `${Math.min(top, innerHeight - height - 8)}px`;
    box.style.left = `${Math.max(8, Math.min(around.left, innerWidth - width - 8))}px`;
}

/** @type {any} */
let box = null;

/** Show the position after a move next to an element. */
export function showBoard(element, fen, uci) {
    box ??= document.body.appendChild(h("div#mini-board.mini-board", { "aria-hidden": "true" }));
    box.replaceChildren(boardPicture(fen, uci));
    box.hidden = false;
    placeNear(box, element);
}

export function hideBoard() {
    if (box) box.hidden = true;
}
