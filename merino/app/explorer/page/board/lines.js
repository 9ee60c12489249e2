// The moves of a line as buttons: pointed at, each shows its board; pressed, it is played. What it leads to, as a picture.

import { h } from "../base/dom.js";
import { numbered } from "../base/game.js";
import { explainLine } from "../base/server.js";
import { hideBoard, showBoard } from "./pictures.js";

/**
 * A place for the moves of a line.
 * @param {() => {asked: any, moves: string[]}} shown what the line begins in, and its moves in coordinates
 * @param {(plies: number) => void} play plays so many of them
 */
export function linePlace(shown, play) {
    const point = async (event) => {
        const button = event.target.closest("button");
        if (!button) return;
        const { asked, moves } = shown();
        const { steps } = await explainLine(asked, moves);
        const step = steps[button.dataset.at];
        if (button.matches(":hover, :focus")) showBoard(button, step.fen, step.uci);
    };
    const press = (event) => {
        const button = event.target.closest("button");
        if (!button) return;
        hideBoard();
        play(Number(button.dataset.at) + 1);
    };
    // heard where the moves are listed: they may be drawn again under the pointer
    const heard = { onpointerover: point, onfocusin: point, onpointerout: hideBoard, onfocusout: hideBoard };
    return h("span.line-moves", { ...heard, onclick: press });
}

/** The moves of a line by their names, which follows so many plies after a position. */
export const lineMoves = (names, fen, plies = 0) =>
    names.map((name, at) => {
        const number = numbered(fen, plies + at, at === 0);
        return h("span.ply", number && h("span.number", number), h("button.plain", { "data-at": at }, name));
    });
