// A small board on which games are played over, one after another; the newest comes next.

import { h, replace } from "../base/dom.js";
import { boardPicture } from "./mini_board.js";

const PLY_MS = 90;
const END_MS = 900; // that the end of a game stays
const SIZE = 260; // pixels
const isStill = matchMedia("(prefers-reduced-motion: reduce)");

export class Replay {
    /** @type {{title: string, fens: string[], moves: string[]} | null} */
    #game = null;
    /** @type {{title: string, fens: string[], moves: string[]} | null} */
    #next = null;
    #ply = 0;
    #timer = 0;
    #board = h("div", { class: "replay-board", "aria-hidden": "true" });
    #title = h("p", { class: "replay-title", id: "replay-title" });

    constructor() {
        this.box = h("div", { class: "replay" }, this.#board, this.#title);
    }

    /** Show a game once the one on the board has ended. */
    offer(game) {
        this.#next = game;
        if (!this.#timer) this.#begin();
    }

    clear() {
        clearTimeout(this.#timer);
        this.#timer = 0;
        this.#game = this.#next = null;
        replace(this.#board);
        this.#title.textContent = "";
    }

    #begin() {
        this.#game = this.#next;
        this.#next = null;
        this.#timer = 0;
        if (!this.#game) return;
        this.#title.textContent = this.#game.title;
        this.#ply = isStill.matches ? this.#game.fens.length - 1 : 0;
        this.#step();
    }

    #step() {
        if (!this.#game) return;
        const { fens, moves } = this.#game;
        const behind = moves.length - fens.length; // those of the opening
        if (this.#board.isConnected)
            replace(this.#board, boardPicture(fens[this.#ply], moves[behind + this.#ply], SIZE));
        this.#ply += 1;
        const isOver = this.#ply >= fens.length;
        this.#timer = setTimeout(() => (isOver ? this.#begin() : this.#step()), isOver ? END_MS : PLY_MS);
    }
}
