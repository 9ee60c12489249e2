// What can be typed or pasted into the one box, or stand in the address: moves, positions, games, and links to the page,
// whose part behind `#` is a position or a game that any explorer can open. And why a move is impossible.

import { byId } from "../base/dom.js";
import { reportError, say, showError, turns, wordsOf } from "../base/flow.js";
import { ucis } from "../base/game.js";
import { post } from "../base/server.js";
import { isMerinosTurn } from "./play.js";
import { ofFile, openGames, showGames } from "../panels/games.js";
import { isPlaying, playLine, playedMoves, setFree, setGame, state, watchBoard } from "../state/store.js";

const MAX_TYPED = 1e5; // characters; what is longer can only be games, and is listed as a file is
const BEGINS = /^\s*1\.(?![.\u2026])/; // which the server reads from the start of a game on

const beginText = turns();
const beginLink = turns();

/** The move as the report writes it, such as castling by king's step in Chess960; or null, and why it is rejected. */
export async function explainRefusal(move) {
    try {
        const read = await post("/api/read", { text: move, fen: state.fen, moves: ucis(playedMoves()) });
        return read.games[0].moves.at(-1).uci;
    } catch (error) {
        reportError(error);
        return null;
    }
}

/** Show the position that the part of an address from `#` on asks for; whether that, or something later, is new on the board. */
export async function showLink(fragment) {
    const fields = new URLSearchParams(fragment.replace(/^#/, ""));
    const fen = fields.get("fen");
    if (!fen) return false;
    try {
        return await showPosition(fen, fields.get("moves"), fields.get("mode") === "free");
    } catch (error) {
        reportError(error);
        return false;
    }
}

/** Show a position, and moves from there; not where another link was opened meanwhile, or the board changed. */
async function showPosition(text, moves, free) {
    const isLast = beginLink(),
        isAsBefore = watchBoard();
    const asked = moves && !free ? `position fen ${text} moves ${moves}` : text;
    const [{ fen, moves: played }] = (await post("/api/read", { text: asked, free })).games;
    if (!isLast() || !isAsBefore()) return true;
    await (free ? setFree(fen) : setGame({ fen, moves: played }));
    return true;
}

/** Take a text, whatever it is; of several at a time the last. */
export async function enter(text) {
    const isLast = beginText();
    if (text.length > MAX_TYPED) await openGames(ofFile(new Blob([text]), "the text"));
    else await read(text, isLast);
}

async function read(text, isLast) {
    const free = state.mode === "free";
    const body = { text, free };
    if (!free) Object.assign(body, { fen: state.fen, moves: ucis(playedMoves()) });
    else if (!state.report?.fault) body.fen = state.free;
    const isAsBefore = watchBoard();
    const found = await post("/api/read", body);
    if (!isLast()) return;
    if (found.kind === "moves" && !isAsBefore())
        throw new Error("the board has changed meanwhile: enter the moves again");
    showError(null);
    if (found.kind === "pgn") await showGames(found, text);
    else if (found.kind === "fen" && free) await setFree(found.games[0].fen);
    else await showMoves(found, text);
    if (found.remark && found.kind === "fen") {
        byId("hint").textContent = found.remark;
        say(found.remark);
    }
}

/** Show the moves that were read: those that continue the game on the board join it; at its start, "1." begins another. */
function showMoves(found, text) {
    const [{ fen, moves }] = found.games;
    const played = playedMoves();
    const isNext = state.mode === "game" && fen === state.fen && played.every(({ uci }, at) => moves[at]?.uci === uci);
    const more = moves.slice(played.length);
    if (found.kind === "moves" && isPlaying()) {
        if (isMerinosTurn()) throw new Error("it is Merino's turn");
        if (!isNext || more.length !== 1) throw new Error("against Merino you make one move at a time");
        return playLine(more);
    }
    if (found.kind === "moves" && isNext && (played.length || !BEGINS.test(text))) return playLine(more);
    return setGame({ fen, moves });
}

/** Say under the box what is wrong with its text; null for nothing. */
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
    byId("entry-text").addEventListener("paste", ({ clipboardData }) => {
        const [file] = clipboardData.files;
        if (file) openGames(ofFile(file, file.name)).catch((error) => showFault(wordsOf(error)));
    });
}
