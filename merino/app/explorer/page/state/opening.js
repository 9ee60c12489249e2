// The name of the opening on the board.

import { post } from "../base/api.js";
import { changed, listenTo, playedMoves, state } from "./store.js";

let asked = 0;

async function ask() {
    const number = ++asked;
    const moves = playedMoves().map((move) => move.uci);
    const { eco, name } = await post("/api/opening", { fen: state.fen, moves }).catch(() => ({}));
    const opening = name ? `${eco} ${name}` : "";
    if (number !== asked || opening === state.opening) return;
    state.opening = opening;
    changed("opening");
}

export function makeOpening() {
    listenTo(["report"], () => {
        if (state.mode === "game") ask();
    });
}
