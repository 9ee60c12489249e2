// A game against Merino: whose turn it is, clocks, taking back, hints, and how it ends.

import { keep, recall } from "../base/browser_storage.js";
import { byId, say, showError } from "../base/dom.js";
import { chime } from "../base/sound.js";
import { lineThrough, mainLine } from "../base/tree.js";
import { Work } from "../base/work.js";
import {
    START,
    askedOf,
    changed,
    goTo,
    isPlaying,
    isReported,
    listen,
    play,
    question,
    refresh,
    setGame,
    sideAfter,
    state,
    truncate,
} from "../state/store.js";
import { showArrows } from "./board.js";

const MOVE_MS = 1000; // for a move of Merino's, at most
const HINT_MS = 600;
const SHARE = 25; // a move may take this part of the time left
const TICK_MS = 200;
const MAX_SAVED = 200; // games that are kept

let found = ""; // Merino's move, until the last position is on the board

const thinking = new Work("/ws/play", {
    done: (message) => {
        found = message.best ?? "";
        playFound();
    },
});
const hints = new Work("/ws/play", {
    done: (message) => {
        if (!message.best || !isPlaying()) return;
        showArrows("hint", [{ uci: message.best, kind: "best", share: 1 }]);
        say(`Hint: ${message.san}`);
    },
});

export const opposite = (side) => (side === "white" ? "black" : "white");

/** The side to move after all moves, whose report may still be on its way. */
const turn = () => sideAfter(state.fen, state.moves.length);

/** Whether the pieces on the board may not be moved now, for it is Merino's turn. */
export const isMerinosTurn = () => isPlaying() && sideAfter(state.fen, state.at) !== state.game.side;

/** Play the move that Merino has found, once the position that it was found in is on the board again. */
function playFound() {
    if (!found || !isPlaying()) return;
    if (state.at < state.moves.length) goTo(state.moves.length);
    else if (isReported()) play(found);
}

/** Let Merino think no longer. */
function stopThinking() {
    thinking.drop();
    found = "";
}

/** Begin a game: { side, level, by, minutes, increment, fromHere }; without minutes it has no clocks. */
export function startGame(wanted) {
    const { side, level, by, minutes, increment, fromHere } = wanted;
    const ms = minutes * 60000;
    const fen = fromHere ? state.report.fen : START;
    state.flipped = side === "black";
    const against = {
        wanted,
        side,
        level,
        by,
        clock: minutes ? { increment: increment * 1000, left: { white: ms, black: ms }, began: Date.now() } : null,
        result: null,
        premove: null,
    };
    changed("view");
    return setGame({ fen, label: side === "white" ? "You - Merino" : "Merino - You", against });
}

/** The same game once more, with the colours changed. */
export const rematch = () => startGame({ ...state.game.wanted, side: opposite(state.game.side), fromHere: false });

function clearArrows() {
    for (const source of ["hint", "premove"]) showArrows(source, []);
}

/** End the game with a result such as "1-0" and a reason, and keep it. */
function finish(score, reason) {
    stopThinking();
    const { clock } = state.game;
    if (clock) clock.left[turn()] = timeLeft(turn()); // which stands still from now on
    state.game = { ...state.game, result: { score, reason }, premove: null };
    const tags = { ...state.tags, Result: score }; // which outlasts the game against Merino, as its moves do
    Object.assign(state, { tags, read: mainLine(state.root), edits: [], undone: [] });
    clearArrows();
    byId("promotion").close(); // whoever is asked there is too late
    save(score, reason);
    chime("end");
    say(`${score}: ${reason}`);
    changed("play");
}

function save(score, reason) {
    const moves = state.moves.map(({ san, uci }) => ({ san, uci }));
    const saved = { fen: state.fen, moves, label: state.label, score, reason, at: new Date().toISOString() };
    keep("played", [...playedGames(), saved].slice(-MAX_SAVED));
}

/** The games that were finished or left, the oldest first. */
export const playedGames = () => recall("played", [], Array.isArray);

const wins = (side) => (side === "white" ? "1-0" : "0-1");
const named = (side) => (side === "white" ? "White" : "Black");
export const resign = () => finish(wins(opposite(state.game.side)), `${named(state.game.side)} resigns`);

/** Leave the game; its moves stay on the board. One that goes on is kept without a result. */
export function leaveGame() {
    stopThinking();
    if (isPlaying() && state.moves.length) save("*", "left");
    state.game = null;
    clearArrows();
    changed("play");
}

const hasFlagFallen = () => Object.values(state.game.clock?.left ?? {}).includes(0);

/** Whether the line on the board is that of the game that has ended: no variation, and without moves after its end. */
const isAsPlayed = () =>
    state.moves.at(-1) === lineThrough(state.root).at(-1) && `${mainLine(state.root)}` === `${state.read}`;

/** Whether there is a move of the user's to take back, and time to make another. */
export const canTakeBack = () =>
    (isPlaying() || isAsPlayed()) &&
    state.moves.length > (sideAfter(state.fen, 0) === state.game.side ? 0 : 1) &&
    !hasFlagFallen();

/** Take back the last move of the user's, and the answer to it. */
export function takeBack() {
    stopThinking();
    const { clock, result } = state.game;
    if (clock && result) clock.began = Date.now(); // it has stood still since the end
    state.game = { ...state.game, result: null, premove: null };
    state.tags = {}; // it goes on, and has no result
    clearArrows();
    const count = state.moves.length; // counted, as the report of the last move may still be on its way
    const own = sideAfter(state.fen, count) === state.game.side ? 2 : 1;
    return truncate(count - own);
}

/** Keep a move for when it is the user's turn. */
export function setPremove(uci) {
    state.game.premove = uci;
    showArrows("premove", uci ? [{ uci, kind: "tried", share: 0.4 }] : []);
}

/** Keep a move that is made while it is Merino's turn; ask again for what has not come, as the server was away. */
export function moveEarly(uci) {
    setPremove(uci);
    const isAway = isReported() && state.at === state.moves.length && !thinking.isRunning;
    if (isReported() && !isAway) return;
    showError(null);
    if (isAway) answer();
    else refresh();
}

/** Show a good move as an arrow. */
export function hint() {
    hints.begin({ ...question(), free: false, movetime: HINT_MS });
}

/** Whether the clock of a side runs. */
export const isRunning = (side) => state.game.result === null && turn() === side && state.report.ending === null;

/** Milliseconds left to a side, at this moment. */
export function timeLeft(side) {
    const { clock } = state.game;
    return Math.max(0, clock.left[side] - (isRunning(side) ? Date.now() - clock.began : 0));
}

/** The clock, the game and the side to move when the moves were last seen to change. */
let seen = { clock: null, game: "", count: 0, side: "" };

/**
 * Think no longer of other moves than those of the game, and charge the side whose clock has run, at the moment when
 * the moves change: by a move of its own or a move taken back. A clock that is new here begins, or goes on after a reload.
 */
function followMoves() {
    if (!isPlaying()) return;
    const { clock } = state.game;
    const count = state.moves.length;
    const before = seen;
    seen = { clock, game: `${state.fen} ${state.moves.map((move) => move.uci)}`, count, side: turn() };
    if (seen.game === before.game) return;
    stopThinking();
    if (!clock || clock !== before.clock) return;
    const now = Date.now();
    clock.left[before.side] += (count === before.count + 1 ? clock.increment : 0) - (now - clock.began);
    clock.began = now;
}

/** The game of a side without time is lost, but for an opponent with a bare king, who can never mate. */
function flagFalls(side) {
    const letters = state.report.fen.split(" ")[0].replace(/[^a-z]/gi, "");
    const others = side === "white" ? /[a-jl-z]/ : /[A-JL-Z]/;
    const told = `${named(side)} has no time left`;
    if (others.test(letters)) finish(wins(opposite(side)), told);
    else finish("1/2-1/2", `${told}, ${named(opposite(side))} only a king`);
}

function checkFlag() {
    if (!isPlaying() || !state.game.clock || !state.report) return;
    const side = turn();
    if (timeLeft(side) > 0) changed("clock");
    else if (state.at === state.moves.length) flagFalls(side);
    else goTo(state.moves.length); // where the pieces tell whether the other side can mate
}

function answer() {
    const { level, by, clock, side } = state.game;
    const ms = clock ? Math.min(MOVE_MS, timeLeft(opposite(side)) / SHARE + clock.increment / 2) : MOVE_MS;
    const asked = { ...question(), free: false, level, movetime: Math.max(20, Math.round(ms)) };
    thinking.begin(askedOf(by, asked));
    changed("play");
}

function tryPremove() {
    const { premove } = state.game;
    if (!premove) return;
    setPremove(null);
    const legal = state.report.moves.find((move) => move.uci.startsWith(premove));
    if (legal) play(legal.uci);
}

let isExpected = false; // a report after a change on the board, with which the game goes on

/** Go on with the game after a move, and where the last one is on the board again. */
function goOn() {
    if (!isPlaying() || !isExpected || state.at !== state.moves.length) return;
    isExpected = false;
    if (state.moves.length) chime("move");
    const { ending } = state.report;
    if (ending) finish(ending === "checkmate" ? wins(opposite(turn())) : "1/2-1/2", ending);
    else if (turn() === state.game.side) tryPremove();
    else if (found) playFound();
    else if (!thinking.isRunning) answer();
}

export function makePlaying() {
    setInterval(checkFlag, TICK_MS);
    listen((topics) => {
        if (topics.has("leave") || (topics.has("mode") && state.mode === "free")) leaveGame();
        if (topics.has("moves")) {
            followMoves();
            hints.drop(); // of the position before
            showArrows("hint", []);
            isExpected = true;
        }
        if (topics.has("report")) goOn();
    });
}
