// The one box for everything that can be typed or pasted; and why a move is not possible.

import { post } from "./api.js";
import { byId, say, showError } from "./dom.js";
import { playedMoves, setFree, setGame, state } from "./store.js";
import { ofFile } from "./game_sources.js";
import { openGames, showGames } from "./games.js";

const LONGEST = 1e5; // characters; what is longer can only be games, and is listed as a file is

/** The move as the report writes it, such as castling by king's step in Chess960; or null, and why it is rejected. */
export async function explainRefusal(move) {
    try {
        const played = await post("/api/move", { fen: state.fen, moves: playedMoves().map((each) => each.uci), move });
        return played.uci;
    } catch (error) {
        showError(error.message);
        say(error.message);
        return null;
    }
}

/** Take a text, whatever it is. */
export async function enter(text, label = "") {
    if (text.length > LONGEST) {
        await openGames(ofFile(new Blob([text]), "the text"));
        return;
    }
    const free = state.mode === "free";
    const body = { text, free };
    if (!free) Object.assign(body, { fen: state.fen, moves: playedMoves().map((move) => move.uci) });
    else if (!state.report?.fault) body.fen = state.free;
    const read = await post("/api/read", body);
    showError(null);
    const [game] = read.games;
    if (read.kind === "pgn") await showGames(read, text);
    else if (read.kind === "fen" && free) await setFree(game.fen);
    else
        await setGame({
            fen: game.fen,
            moves: game.moves,
            label: label || (read.kind === "moves" && !free && game.fen === state.fen ? state.label : ""),
        });
    if (read.remark && read.kind === "fen") {
        byId("hint").textContent = read.remark;
        say(read.remark);
    }
}

export function makeEntry() {
    const form = byId("entry"),
        box = byId("entry-text");
    async function submit() {
        if (!box.value.trim()) return;
        try {
            await enter(box.value);
            box.value = "";
        } catch (error) {
            showError(error.message);
            say(error.message);
        }
    }
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        submit();
    });
    box.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && !event.shiftKey) {
            event.preventDefault();
            submit();
        }
        if (event.key === "Escape") {
            box.value = "";
            box.blur();
        }
        event.stopPropagation();
    });
}
