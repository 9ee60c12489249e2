// A game against Merino: the dialog that begins it, whose turn it is, clocks, taking back, hints, how it ends, and the bar with
// what can be done in it.

import { button, byId, h, hide, keepFocus, options, replace } from "../base/dom.js";
import { changeDetector, say, showError } from "../base/flow.js";
import { ucis, lineThrough, mainLine, sideAfter } from "../base/game.js";
import { keep, recall } from "../base/kept.js";
import { Work } from "../base/server.js";
import { showArrows } from "../board/board.js";
import { whyNoGame } from "../board/free.js";
import { catalogue, evaluations } from "../panels/weights.js";
import {
    SHOWN,
    START,
    changed,
    listen,
    play,
    question,
    refresh,
    state,
    truncate,
    askedOf,
    goTo,
    isPlaying,
    isReported,
    setGame,
} from "../state/store.js";

const MOVE_MS = 1000; // for a move of Merino's, at most
const HINT_MS = 600;
const SHARE = 25; // a move may take this part of the time left
const TICK_MS = 200;
const MAX_SAVED = 200; // games that are kept

let found = ""; // the opponent's move, until the last position is on the board
let isExpected = false; // a report after a change on the board, with which the game goes on
/** The clock, the game and the side to move when the moves were last seen to change. */
let seen = { clock: null, game: "", count: 0, side: "" };

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

const opposite = (side) => (side === "white" ? "black" : "white");
const named = (side) => (side === "white" ? "White" : "Black");
const wins = (side) => (side === "white" ? "1-0" : "0-1");

/** The side to move after all moves, whose report may still be on its way. */
const turn = () => sideAfter(state.fen, state.moves.length);
const isAtEnd = () => state.at === state.moves.length;

/** Whether the pieces on the board may not be moved now, for it is Merino's turn. */
export const isMerinosTurn = () => isPlaying() && sideAfter(state.fen, state.at) !== state.game.side;

/** Play the move that Merino has found, once the position that it was found in is on the board again. */
function playFound() {
    if (!found || !isPlaying()) return;
    if (!isAtEnd()) goTo(state.moves.length);
    else if (isReported()) play(found);
}

function stopThinking() {
    thinking.drop();
    found = "";
}

/** Begin a game: { side, level, by, minutes, increment, fromHere }; without minutes it has no clocks. */
function startGame(wanted) {
    const { side, level, by, minutes, increment, fromHere } = wanted;
    const ms = minutes * 60000;
    const fen = fromHere ? state.report.fen : START;
    const clock = minutes ? { increment: increment * 1000, left: { white: ms, black: ms }, began: null } : null;
    const opponent = catalogue.engines.find(([id]) => id === by)?.[1] ?? "Merino";
    const against = { wanted, side, level, by, opponent, clock, result: null, premove: null, way: state.way };
    state.flipped = side === "black";
    changed("view");
    return setGame({ fen, label: side === "white" ? `You - ${opponent}` : `${opponent} - You`, against });
}

/** The same game once more, with the colours changed. */
const rematch = () => startGame({ ...state.game.wanted, side: opposite(state.game.side), fromHere: false });

function clearArrows() {
    for (const source of ["hint", "premove"]) showArrows(source, []);
}

/** End the game with a result such as "1-0" and a reason, and keep it. */
function finish(score, reason) {
    stopThinking();
    const { clock } = state.game;
    if (clock) clock.left[turn()] = timeLeft(turn()); // which stands still from now on
    showValues();
    state.game = { ...state.game, result: { score, reason }, premove: null };
    const tags = { ...state.tags, Result: score }; // which outlasts the game against Merino, as its moves do
    Object.assign(state, { tags, read: mainLine(state.root), edits: [], undone: [] });
    clearArrows();
    byId("promotion").close(); // whoever is asked there is too late
    save(score, reason);
    say(`${score}: ${reason}`);
    changed("play");
}

function save(score, reason) {
    const { fen, label } = state;
    const moves = state.moves.map(({ san, uci }) => ({ san, uci }));
    const saved = { fen, moves, label, score, reason, at: new Date().toISOString() };
    keep("played", [...playedGames(), saved].slice(-MAX_SAVED));
}

/** The games that were finished or left, the oldest first. */
export const playedGames = () => recall("played", [], Array.isArray);

const resign = () => finish(wins(opposite(state.game.side)), `${named(state.game.side)} resigns`);

/** Leave the game; its moves stay on the board. One that goes on is kept without a result. */
function leaveGame() {
    stopThinking();
    if (isPlaying()) showValues();
    if (isPlaying() && state.moves.length) save("*", "left");
    state.game = null;
    clearArrows();
    changed("play");
}

/** Show values and scores again, which are hidden while one plays. */
function showValues() {
    if (state.way === "none") state.way = state.game.way;
    state.game = { ...state.game, isOpen: true };
    changed("view", "play");
}

const hasFlagFallen = () => Object.values(state.game.clock?.left ?? {}).includes(0);

/** Whether the line on the board is that of the game that has ended: no variation, and without moves after its end. */
const isAsPlayed = () =>
    state.moves.at(-1) === lineThrough(state.root).at(-1) && `${mainLine(state.root)}` === `${state.read}`;

/** Whether there is a move of the user's to take back, and time to make another. */
const canTakeBack = () =>
    (isPlaying() || isAsPlayed()) &&
    state.moves.length > (sideAfter(state.fen, 0) === state.game.side ? 0 : 1) &&
    !hasFlagFallen();

/** Take back the last move of the user's, and the answer to it. */
function takeBack() {
    stopThinking();
    const { clock, result, side } = state.game;
    if (clock && result) clock.began = Date.now(); // it has stood still since the end
    state.game = { ...state.game, result: null, premove: null, isOpen: false };
    state.tags = {}; // it goes on, and has no result
    clearArrows();
    return truncate(state.moves.length - (turn() === side ? 2 : 1)); // the last report may still be on its way
}

/** Keep a move for when it is the user's turn. */
export function setPremove(uci) {
    state.game.premove = uci;
    showArrows("premove", uci ? [{ uci, kind: "tried", share: 0.4 }] : []);
}

/** Keep a move that is made while it is Merino's turn; ask again for what has not come, as the server was away. */
export function moveEarly(uci) {
    setPremove(uci);
    if (!isReported()) {
        showError(null);
        refresh();
    } else if (isAtEnd() && !thinking.isRunning) {
        showError(null);
        answer();
    }
}

/** Show a good move as an arrow. */
const hint = () => hints.begin({ ...question(), free: false, movetime: HINT_MS });

/** Whether the clock of a side runs. */
const isRunning = (side) =>
    state.game.result === null && state.game.clock.began && turn() === side && state.report?.ending === null;

/** Milliseconds left to a side, at this moment. */
function timeLeft(side) {
    const { clock } = state.game;
    return Math.max(0, clock.left[side] - (isRunning(side) ? Date.now() - clock.began : 0));
}

/**
 * Think no longer of other moves than those of the game, and charge the side whose clock has run, at the moment when
 * the moves change: by a move of its own or a move taken back. The first move sets the clocks going.
 */
function followMoves() {
    if (!isPlaying()) return;
    const { clock } = state.game;
    const before = seen;
    seen = { clock, game: `${state.fen} ${ucis(state.moves)}`, count: state.moves.length, side: turn() };
    if (seen.game === before.game) return;
    stopThinking();
    if (!clock || clock !== before.clock) return;
    const now = Date.now();
    if (clock.began)
        clock.left[before.side] += (seen.count === before.count + 1 ? clock.increment : 0) - (now - clock.began);
    clock.began = now;
}

/** The game of a side without time is lost, but for an opponent with a bare king, who can never mate. */
function flagFalls(side) {
    const letters = state.report.fen.split(" ")[0];
    const others = side === "white" ? /[a-jl-z]/ : /[A-JL-Z]/;
    const reason = `${named(side)} has no time left`;
    if (others.test(letters)) finish(wins(opposite(side)), reason);
    else finish("1/2-1/2", `${reason}, ${named(opposite(side))} only a king`);
}

function checkFlag() {
    if (!isPlaying() || !state.game.clock || !state.report) return;
    if (timeLeft(turn()) > 0) changed("clock");
    else if (isAtEnd()) flagFalls(turn());
    else goTo(state.moves.length); // where the pieces show whether the other side can mate
}

function answer() {
    const { level, by, clock, side } = state.game;
    const ms = clock ? Math.min(MOVE_MS, timeLeft(opposite(side)) / SHARE + clock.increment / 2) : MOVE_MS;
    const asked = { ...question(), free: false, level, movetime: Math.max(20, Math.round(ms)) };
    thinking.begin(catalogue.engines.some(([id]) => id === by) ? { ...asked, judge: by } : askedOf(by, asked));
    changed("play");
}

function tryPremove() {
    const { premove } = state.game;
    if (!premove) return;
    setPremove(null);
    const legal = state.report.moves.find((move) => move.uci.startsWith(premove));
    if (legal) play(legal.uci);
}

/** Go on with the game after a move, and where the last one is on the board again. */
function goOn() {
    if (!isPlaying() || !isExpected || !isAtEnd()) return;
    isExpected = false;
    const { ending } = state.report;
    if (ending) finish(ending === "checkmate" ? wins(opposite(turn())) : "1/2-1/2", ending);
    else if (turn() === state.game.side) tryPremove();
    else if (found) playFound();
    else if (!thinking.isRunning) answer();
}

function makePlaying() {
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

const DEFAULTS = { side: "white", level: 10, clock: "0 0", fromHere: false };
const wanted = { ...DEFAULTS, ...recall("play", {}) };
/** @type {(number | null)[]} */
let elos = []; // of each level, null for full strength
let by = SHOWN; // the evaluation that Merino plays by

const levelName = (level) => (elos[level] === null ? "full strength" : `level ${level}, about ${elos[level]} Elo`);

function begin() {
    const [side, level, clock] = ["side", "level", "clock"].map((name) => byId(`play-${name}`).value);
    by = byId("play-by").value;
    Object.assign(wanted, { side, level: Number(level), clock, fromHere: byId("play-here").checked });
    keep("play", wanted);
    byId("play-dialog").close();
    const [minutes, increment] = clock.split(" ").map(Number);
    if (wanted.fromHere && whyNoGame()) showError(whyNoGame());
    else startGame({ ...wanted, by, minutes, increment });
}

export function askToPlay() {
    const choices = {
        level: [elos.map((_, level) => [level, levelName(level)]), wanted.level],
        by: [[[SHOWN, "the evaluation shown"], ...catalogue.engines, ...evaluations()], by],
    };
    for (const [name, [pairs, chosen]] of Object.entries(choices))
        byId(`play-${name}`).replaceChildren(...options(pairs, chosen));
    byId("play-here").checked = wanted.fromHere;
    for (const name of ["side", "clock"]) byId(`play-${name}`).value = wanted[name];
    byId("play-dialog").showModal();
}

function clockText(side) {
    const seconds = Math.ceil(timeLeft(side) / 1000);
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

const clockElement = (side) => [
    h("span.note", side === state.game.side ? "You" : state.game.opponent),
    h(`span#clock-${side}.clock`, { "data-side": side }),
];

function drawClocks() {
    for (const clock of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".clock"))) {
        clock.textContent = clockText(clock.dataset.side);
        clock.classList.toggle("runs", isRunning(clock.dataset.side));
    }
}

const isBarNew = changeDetector();

function draw() {
    const box = byId("play-bar"),
        list = byId("move-list");
    const isBare = isPlaying() && !state.game.isOpen;
    document.documentElement.classList.toggle("bare", isBare);
    if (isBare && state.way !== "none") {
        state.way = "none";
        changed("view");
    }
    if (isBare !== (list.parentElement === byId("reasons")))
        keepFocus(document.body, () => byId(isBare ? "welcome" : "editing").before(box, list));
    if (!state.game) {
        isBarNew(null);
        hide(box);
        return;
    }
    box.hidden = false;
    const { result, side, clock, level, isOpen } = state.game;
    if (isBarNew(result, side, level, clock !== null, isOpen)) drawBar(box);
    drawClocks();
    byId("take-back").disabled = !canTakeBack();
    if (!result) byId("hint-move").disabled = state.report?.to_move !== side;
}

function drawBar(box) {
    const { result, side, clock, level, opponent, isOpen } = state.game;
    const who = `You are ${side === "white" ? "White" : "Black"}, ${opponent} plays at ${levelName(level)}.`;
    const back = button("take-back", "Take back", takeBack);
    const values = isOpen ? null : button("show-values", "Show values", showValues);
    const during = [back, button("hint-move", "Hint", hint), values, button("resign", "Resign", resign)];
    const after = [button("rematch", "Rematch", rematch), back];
    const leave = button("leave-game", result ? "Analyse" : "Leave", leaveGame);
    replace(
        box,
        clock ? [clockElement(opposite(side)), clockElement(side)] : null,
        h("span#play-state.note", { role: "status" }, result ? `${result.score}: ${result.reason}` : who),
        h("span.row", result ? after : during, leave),
    );
}

/** Make them; `levels` are the Elo of each level, null for full strength. */
export function makePlay(levels) {
    elos = levels;
    makePlaying();
    byId("play-begin").onclick = begin;
    listen((topics) => {
        if (topics.has("clock") && state.game?.clock) drawClocks();
        if (topics.has("play") || topics.has("report")) draw();
    });
    draw();
}
