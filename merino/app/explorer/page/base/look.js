// How board and pieces look: chosen by the user, and kept between visits.

import { keep, recall } from "./browser_storage.js";

export const BOARDS = [
    ["stone", "Stone"],
    ["wood", "Wood"],
    ["green", "Green"],
    ["sea", "Sea"],
    ["paper", "Paper"],
];
export const PIECES = [
    ["classic", "Classic"],
    ["plain", "Plain"],
    ["letters", "Letters"],
];

const known = (choices) => (value) => choices.some(([name]) => name === value);
const addressOf = (set) => (set === "classic" ? "/pieces/" : `/pieces/${set}/`);

export const chosen = {
    board: recall("board-colours", "stone", known(BOARDS)),
    pieces: recall("pieces", "classic", known(PIECES)),
};

/** Where the drawings of the pieces are. */
export const look = { pieces: addressOf(chosen.pieces) };

function show() {
    document.documentElement.dataset.board = chosen.board;
    look.pieces = addressOf(chosen.pieces);
}

export function chooseBoard(name) {
    chosen.board = name;
    keep("board-colours", name);
    show();
}

export function choosePieces(name) {
    chosen.pieces = name;
    keep("pieces", name);
    show();
}

show();
