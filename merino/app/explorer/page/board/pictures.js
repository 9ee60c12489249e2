// Boards that are only looked at: a small one next to a move that is pointed at, and one on which games are played over.

import { byId, h, replace, s } from "../base/dom.js";
import { FILES, boardOf, squaresOf } from "../base/game.js";
import { pieceAddress } from "../base/kept.js";
import { placeOf } from "./board.js";

const SIZE = 200; // pixels of the small board
const PLY_MS = 90;
const END_MS = 900; // that the end of a game stays
const isStill = matchMedia("(prefers-reduced-motion: reduce)");

function cell(selector, square, more = {}) {
    const [x, y] = placeOf(square);
    return s(selector, { x, y, width: 1, height: 1, ...more });
}

/** A position as a picture, with the squares of the last move marked. */
export function boardPicture(fen, uci, size) {
    const squares = [...FILES].flatMap((file, column) =>
        [..."12345678"].map((rank, row) => cell((column + row) % 2 ? "rect.light" : "rect.dark", file + rank)),
    );
    const last = squaresOf(uci).map((square) => cell("rect.moved", square));
    const pieces = [...boardOf(fen)].map(([square, letter]) => cell("image", square, { href: pieceAddress(letter) }));
    return s("svg.mini", { viewBox: "0 0 8 8", width: size, height: size }, squares, last, pieces);
}

/** Put a box below an element, or above where there is no room, inside the window. */
export function placeNear(box, element) {
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
    box.replaceChildren(boardPicture(fen, uci, SIZE));
    box.hidden = false;
    placeNear(box, element);
}

export function hideBoard() {
    if (box) box.hidden = true;
}

/** A small board on which games are played over, one after another; the newest comes next. */
export class Replay {
    /** @type {{title: string, fens: string[], moves: string[]} | null} */
    #next = null;
    #timer = 0;
    #board = byId("replay-board");
    #title = byId("replay-title");

    /** Show a game once the one on the board has ended. */
    offer(game) {
        this.#next = game;
        if (!this.#timer) this.#begin();
    }

    clear() {
        clearTimeout(this.#timer);
        this.#timer = 0;
        this.#next = null;
        replace(this.#board);
        this.#title.textContent = "";
    }

    #begin() {
        const game = this.#next;
        this.#next = null;
        this.#timer = 0;
        if (!game) return;
        this.#title.textContent = game.title;
        this.#step(game, isStill.matches ? game.fens.length - 1 : 0);
    }

    #step(game, ply) {
        const { fens, moves } = game;
        const behind = moves.length - fens.length; // those of the opening
        if (this.#board.checkVisibility()) replace(this.#board, boardPicture(fens[ply], moves[behind + ply], 260));
        const isOver = ply + 1 >= fens.length;
        const next = () => (isOver ? this.#begin() : this.#step(game, ply + 1));
        this.#timer = setTimeout(next, isOver ? END_MS : PLY_MS);
    }
}
