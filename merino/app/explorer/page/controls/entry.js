// The one box for everything that can be typed or pasted; and why a move is not possible.

import { post } from "../base/api.js";
import { byId, say, showError, tellError, wordsOf } from "../base/dom.js";
import { isMerinosTurn } from "../board/playing.js";
import { ofFile } from "../panels/game_sources.js";
import { openGames, showGames } from "../panels/games.js";
import { isPlaying, playLine, playedMoves, setFree, setGame, state, watchBoard } from "../state/store.js";
import { fragmentOf, showLink } from "./links.js";

const MAX_TYPED = 1e5; // characters; what is longer can only be games, and is listed as a file is

const BEGINS = /^\s*1\.(?![.\u2026])/; // which the server reads from the start of a game on

let entered = 0; // texts

/** The move as the report writes it, such as castling by king's step in Chess960; or null, and why it is rejected. */
export async function explainRefusal(move) {
    try {
        const played = await post("/api/move", { fen: state.fen, moves: playedMoves().map((each) => each.uci), move });
        return played.uci;
    } catch (error) {
        tellError(error);
        return null;
    }
}

/** Take a text, whatever it is; of several at a time the last. */
export async function enter(text) {
    const number = ++entered;
    const fragment = fragmentOf(text);
    if (fragment) {
        await showLink(fragment);
        return;
    }
    if (text.length > MAX_TYPED) {
        await openGames(ofFile(new Blob([text]), "the text"));
        return;
    }
    const free = state.mode === "free";
    const body = { text, free };
    if (!free) Object.assign(body, { fen: state.fen, moves: playedMoves().map((move) => move.uci) });
    else if (!state.report?.fault) body.fen = state.free;
    const isAsBefore = watchBoard();
    const read = await post("/api/read", body);
    if (number !== entered) return;
    if (read.kind === "moves" && !isAsBefore())
        throw new Error("the board has changed meanwhile: enter the moves again");
    showError(null);
    const [game] = read.games;
    if (read.kind === "pgn") await showGames(read, text);
    else if (read.kind === "fen" && free) await setFree(game.fen);
    else await showMoves(read, text);
    if (read.remark && read.kind === "fen") {
        byId("hint").textContent = read.remark;
        say(read.remark);
    }
}

/** Show the moves that were read: those that continue the game on the board join it; at its start, "1." begins another. */
function showMoves(read, text) {
    const [{ fen, moves }] = read.games;
    const played = playedMoves();
    const continues =
        state.mode === "game" && fen === state.fen && played.every(({ uci }, at) => moves[at]?.uci === uci);
    const more = moves.slice(played.length);
    if (read.kind === "moves" && isPlaying()) {
        if (isMerinosTurn()) throw new Error("it is Merino's turn");
        if (!continues || more.length !== 1) throw new Error("against Merino you make one move at a time");
        return playLine(more);
    }
    if (read.kind === "moves" && continues && (played.length || !BEGINS.test(text))) return playLine(more);
    return setGame({ fen, moves });
}

/** Say beside the box what is wrong with its text; null for nothing. */
function showFault(text) {
    const place = byId("entry-error");
    place.hidden = !text;
    place.textContent = text ?? "";
    byId("entry-text").setAttribute("aria-invalid", String(Boolean(text)));
}

async function submit() {
    const box = byId("entry-text"),
        text = box.value;
    if (!text.trim()) return;
    try {
        await enter(text);
        if (box.value === text) box.value = ""; // else somebody types the next one already
        showFault(null);
    } catch (error) {
        showFault(wordsOf(error));
    }
}

function press(event) {
    if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        submit();
    }
    if (event.key === "Escape") {
        event.target.value = "";
        showFault(null);
        event.target.blur();
    }
    event.stopPropagation();
}

export function makeEntry() {
    byId("entry").addEventListener("submit", (event) => {
        event.preventDefault();
        submit();
    });
    byId("entry-text").addEventListener("keydown", press);
    byId("entry-text").addEventListener("input", () => showFault(null));
}
