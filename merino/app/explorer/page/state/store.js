// What the page knows: the game or the free position, the weights, what is chosen, and the report of what is shown. What
// is on the board is in the address and in the history of the tab: it survives a reload, and Back leads to what was before.

import { reportError, say, showError, turns } from "../base/flow.js";
import { pawns, percent, shortName } from "../base/words.js";
import { append, follow, grown, inherit, lineThrough, listed, mainLine, pathTo, ucis } from "../base/game.js";
import { explain } from "../base/server.js";

export const START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
export const EMPTY = "8/8/8/8/8/8/8/8 w - - 0 1";
/** The kinds of value: name, title, explanation, and the value of a piece of a report in pawns for White, null for none. */
export const WAYS = [
    ["removal", "Removal", "How much the score falls when the piece is taken off the board"],
    [
        "attributed",
        "Attributed",
        "What the terms of the piece add to the score; with the shared rest, all pieces sum to the score",
    ],
    [
        "shapley",
        "Shapley",
        "What the piece adds to the score, on average over all orders in which the pieces could come",
    ],
    ["relative", "Relative", "Removal in units of a pawn's weight"],
    ["beside", "Second", "The value that the second evaluation gives the piece, or else its value by removal"],
    ["none", "Off", "No values on the board"],
];

export const SHOWN = "shown"; // in place of an evaluation: the one that the page shows

/** Next to the terms a net that values each piece, and the terms next to a net. */
export const USUAL = "usual";

/**
 * @typedef {object} State
 * @property {"game" | "free"} mode
 * @property {string} fen
 * @property {any} root
 * @property {any} node
 * @property {any[]} moves
 * @property {number} at
 * @property {Record<string, string>} tags
 * @property {string[]} read
 * @property {any[]} edits
 * @property {any[]} undone
 * @property {string} free
 * @property {string} label
 * @property {string} weights
 * @property {Record<string, number>} changes
 * @property {string | null} beside
 * @property {number} edition
 * @property {string} way
 * @property {boolean} flipped
 * @property {string | null} term
 * @property {any} report
 * @property {any} preview
 * @property {any} game
 * @property {string | null} exercise
 */

const beginning = grown([]);

/** @type {State} */
export const state = {
    mode: "game",
    fen: START, // where the game begins
    root: beginning, // the game as a tree
    node: beginning, // the move of it that is on the board, the root for none
    moves: [], // the line through that move: nodes of the tree, with san and uci
    at: 0, // how many of them are on the board
    tags: {}, // of a game that was read, or that has ended
    read: [], // the moves of its main line at that time
    edits: [], // the game before each change, the last one last
    undone: [], // those taken back
    free: START, // the position of free mode
    label: "", // whose game it is
    weights: "in-use",
    changes: {}, // weights moved by hand
    beside: USUAL, // the second evaluation, whose score and values are shown as well, by its id; null for none
    edition: 0, // of the weights: how often others were put in use here, or their files were changed
    way: "removal",
    flipped: false,
    term: null, // the term whose squares are lit
    report: null,
    preview: null, // { report, move } of a move that has not been let go
    game: null, // the game that is played against Merino
    exercise: null, // the one on the board that is not solved yet, by its identity
};

const MAX_EDITS = 100; // that can be undone
const MAX_LABEL = 8; // characters; a longer name does not fit above the board of a phone
const MAX_KEPT = 60; // writings of the history in KEPT_MS, of which browsers allow only so many
const KEPT_MS = 30000;
const listeners = [];

/**
 * Call `listener(topics)` when something changes: "report", "preview", "moves", "mode", "view", "values", "weights",
 * "tab", "lines" of the analysis, "arrows", "play", the game against Merino or an exercise, "leave", before that
 * game leaves the board, its "clock", or "games", those that are listed.
 */
export const listen = (listener) => listeners.push(listener);

/** Call `action` when one of these topics changes. */
export const listenTo = (topics, action) =>
    listen((now) => {
        if (topics.some((topic) => now.has(topic))) action(now);
    });

export function changed(...topics) {
    for (const listener of listeners) listener(new Set(topics));
}

/** Whether a game against Merino is going on. */
export const isPlaying = () => state.game !== null && state.game.result === null;

/** Whether people are left to think by themselves: nothing is searched for them. */
export const isUnaided = () => isPlaying() || state.exercise !== null;

export const playedMoves = () => state.moves.slice(0, state.at);

/** What is on the board, as the server is asked for it; `more` are moves beyond. */
export function question(...more) {
    const { weights, changes, beside, edition } = state;
    const by = { weights, changes, beside, edition };
    if (state.mode === "free") return { fen: state.free, moves: more, free: !more.length, ...by };
    return { fen: state.fen, moves: [...ucis(playedMoves()), ...more], free: false, ...by };
}

/** The whole game, as the server is asked for it. */
export function wholeGame() {
    const { fen, moves, weights, changes, edition } = state;
    return { fen, moves: ucis(moves), weights, changes, edition };
}

/** A question to the server, asked of the evaluation with this id. */
export const askedOf = (by, asked) => (by === SHOWN ? asked : { ...asked, weights: by, changes: {} });

const beginReport = turns();
const beginPreview = turns();
let reported = ""; // the position of the report

/** What is on the board, as text. */
export function position() {
    const { fen, moves } = question();
    return JSON.stringify([fen, moves]);
}

/** Whether the report is that of the position on the board, and not still that of one before. */
export const isReported = () => reported === position();

/** Ask for the report of what is on the board, and show it. */
export async function refresh({ silent = false } = {}) {
    const isLast = beginReport(),
        at = position();
    state.preview = null;
    beginPreview(); // what is still asked for is of the board before
    try {
        const report = await explained(question());
        if (!isLast()) return;
        state.report = report;
        reported = at;
        if (report.without_terms) state.term = null;
        if (!ways().some(([name]) => name === state.way)) state.way = "removal";
        changed("report");
        if (!silent) speak(report);
    } catch (error) {
        if (isLast()) reportError(error);
    }
}

function speak(report) {
    const last = state.mode === "game" && state.at ? `${state.moves[state.at - 1].san}. ` : "";
    const score = `Before any move ${pawns(report.score_cp)}, White expects ${percent(report.static.expected_score)}.`;
    const more = [report.ending, report.fault].filter(Boolean).map((text) => ` ${text}.`);
    say(last + score + more.join(""));
}

/** Stand on a move of the game; the moves shown lead through it. */
function stand(node) {
    if (node !== state.root && !state.moves.includes(node)) state.moves = lineThrough(node);
    state.node = node;
    state.at = pathTo(node).length;
}

/** Let this be the game on the board, after the moves of a path. */
function standIn(root, path) {
    state.root = root;
    state.moves = lineThrough(root);
    stand(follow(root, path));
}

/**
 * Show a game, or a position as the start of one, after `at` of its moves; by default after all. `against` is the game
 * against Merino that it is; any other is left.
 * @param {{ fen: string, moves?: any[], label?: string, tags?: Record<string, string>, comment?: string,
 *     commands?: Record<string, string>, against?: any }} game
 */
export function setGame(game, at = game.moves?.length ?? 0) {
    const { fen, moves = [], label = "", tags = {}, comment = "", commands = {}, against = null } = game;
    turnPage();
    if (state.game) changed("leave");
    const root = grown(moves, comment, commands);
    Object.assign(state, { mode: "game", fen, label, tags, term: null, edits: [], undone: [], game: against });
    state.read = mainLine(root);
    standIn(root, state.read.slice(0, at));
    return moved("mode", "moves", "play");
}

/** The tags of the game on the board: its result is that of the moves read or played out, which others may follow. */
export function tagsNow() {
    const { tags, read, root } = state;
    const moves = mainLine(root);
    if (read.every((uci, ply) => uci === moves[ply])) return tags;
    return Object.fromEntries(Object.entries(tags).filter(([name]) => name !== "Result"));
}

/** A function that says whether the game or position is still the present one, unchanged; another move may be shown. */
export function watchBoard() {
    const { mode, root, edits, free } = state;
    return () => state.mode === mode && state.root === root && state.edits === edits && state.free === free;
}

/** Say that other moves are on the board, and ask for the report of their position. */
function moved(...topics) {
    showError(null);
    changed(...topics);
    return refresh();
}

/** The legal moves on the board; none until their report is there. */
const legalMoves = () => (isReported() ? state.report.moves : []);

/** The legal moves of the piece on a square, in coordinates. */
export const movesFrom = (square) => ucis(legalMoves()).filter((uci) => uci.startsWith(square));

/** Play a legal move on the board. */
export function play(uci) {
    const found = legalMoves().find((move) => move.uci === uci);
    return found ? playLine([{ san: found.san, uci }]) : null;
}

/**
 * Play the moves of a line, { san, uci }, that begins on the board; one that differs from the game is a variation, or
 * against Merino takes the place of what followed: a game that is played has one line.
 */
export function playLine(line) {
    if (state.mode === "free") return setGame({ fen: state.free, moves: line });
    if (!isPlaying()) turnPage();
    remember();
    if (isPlaying() && !ucis(state.node.children).includes(line[0].uci)) state.node.children = [];
    stand(line.reduce(append, state.node));
    return moved("moves");
}

/** Take off the moves of the line on the board after so many. */
export function truncate(ply) {
    state.moves = state.moves.slice(0, ply);
    stand(state.moves.at(-1) ?? state.root);
    state.node.children = [];
    return moved("moves");
}

/** Go to the position after so many moves. */
export function goTo(ply) {
    const at = Math.min(Math.max(ply, 0), state.moves.length);
    if (state.mode !== "game" || at === state.at) return Promise.resolve();
    return goToNode(state.moves[at - 1] ?? state.root);
}

/** Go to the position after a move of the game, which may be one of a variation. */
export function goToNode(node) {
    stand(node);
    return moved("moves");
}

function snapshot() {
    const { comment, commands } = state.root;
    return { moves: listed(state.root), comment, commands, path: ucis(pathTo(state.node)) };
}

/** Keep the game as it is, for `undoEdit`. */
function remember() {
    state.edits = [...state.edits.slice(1 - MAX_EDITS), snapshot()];
    state.undone = [];
}

/** Change the game at a move, by default that on the board; `change` gets it, and may return the one to stand on then. */
export function edit(change, move = state.node) {
    remember();
    const node = change(move) ?? state.node;
    state.moves = lineThrough(node);
    stand(node);
    return moved("moves");
}

function restored(from, to) {
    if (!state[from].length || isPlaying()) return Promise.resolve();
    state[to] = [...state[to], snapshot()];
    const { moves, comment, commands, path } = state[from].at(-1);
    state[from] = state[from].slice(0, -1);
    standIn(inherit(grown(moves, comment, commands), state.root), path);
    return moved("moves");
}

/** Undo the last change of the game: a move that was added, a comment, a sign, a removal; none of one that is played. */
export const undoEdit = () => restored("edits", "undone");
export const redoEdit = () => restored("undone", "edits");

/** Show a position of free mode. */
export function setFree(fen) {
    turnPage();
    Object.assign(state, { mode: "free", free: fen });
    return moved("mode");
}

/** Show what would be after a legal move, or with null no longer. */
export async function preview(uci) {
    const isLast = beginPreview();
    if (state.preview?.move === uci) return;
    const report = uci && isReported() ? await explained(question(uci)).catch(reportError) : null;
    if (!isLast() || (uci ? !report : !state.preview)) return;
    state.preview = uci ? { report, move: uci } : null;
    changed("preview");
}

/** The values and the score shown now: those that would be where a move is tried. */
export const shown = () => state.preview?.report ?? state.report;

/** How the game on the board has ended: "1-0", "0-1" or "½-½"; null while it goes on. */
export function resultOf({ ending, to_move: turn }) {
    if (!ending) return null;
    if (ending !== "checkmate") return "\u00bd-\u00bd";
    return turn === "white" ? "0-1" : "1-0";
}

const SHARES = { "1-0": 1, "0-1": 0, "\u00bd-\u00bd": 0.5 };

/** White's share of the points: as expected by the evaluation, or as the game has ended. */
export const shareOf = (report) => SHARES[resultOf(report) ?? ""] ?? report.static.expected_score;

/** The kinds of value that the report has: only a piece-value net says what a piece adds, no other net. */
export function ways() {
    const report = state.report;
    const has = { attributed: report?.shared_cp !== null, beside: Boolean(report?.beside) };
    const second = report?.beside ? shortName(report.beside.evaluation) : "";
    return WAYS.filter(([name]) => has[name] ?? true).map(([name, label, what]) => [
        name,
        name === "beside" && second.length <= MAX_LABEL ? second : label,
        what,
    ]);
}

/** What the second evaluation says of a piece, in centipawns for White; null for kings. */
function besideOf(piece, report) {
    const beside = report.beside?.pieces.find((each) => each.square === piece.square);
    return !beside || piece.removal_cp === null ? null : (beside.attributed_cp ?? beside.removal_cp);
}

/** A report in which each piece also has its value by the second evaluation. */
async function explained(asked) {
    const report = await explain(asked);
    for (const piece of report.pieces) piece.beside_cp = besideOf(piece, report);
    return report;
}

/** The value of a piece as chosen, in pawns for White; null where it has none. */
export function shownValue(piece) {
    if (state.way === "relative") return piece.relative_pawns;
    const value = piece[`${state.way === "none" ? "attributed" : state.way}_cp`];
    return value === null ? null : value / 100;
}

/** The address of what is on the board, without the server's. */
export function address() {
    const { mode, free, fen, at } = state;
    const fields = new URLSearchParams({ fen: mode === "free" ? free : fen });
    if (mode === "free") fields.set("mode", "free");
    else if (at) fields.set("moves", ucis(playedMoves()).join(" "));
    return `/#${fields.toString().replaceAll("+", "%20")}`;
}

const pages = { isKept: false, left: MAX_KEPT, timer: 0 }; // whether the history has what is on the board, and what will write it

/** Write into the history what the tab shows, with variations and a game against Merino. */
function writePage() {
    clearTimeout(pages.timer);
    pages.left -= 1;
    setTimeout(() => (pages.left += 1), KEPT_MS);
    const { mode, free, fen, label, tags, read, game, flipped } = state;
    history.replaceState({ mode, free, fen, label, tags, read, game, flipped, ...snapshot() }, "", address());
}

/** The same, a little later where much was written lately. */
function keepPage() {
    clearTimeout(pages.timer);
    if (pages.left > 0) writePage();
    else pages.timer = setTimeout(writePage, KEPT_MS / MAX_KEPT);
}

/** Begin another page of the history, as another position comes on the board, unless the present one is empty. */
function turnPage() {
    if (!pages.isKept || history.state === null) return;
    writePage();
    history.pushState(null, "");
}

/** Show what a page of the history has. */
export async function showPage({ mode, free, fen, label, tags, read, game, flipped, moves, comment, commands, path }) {
    if (state.game) changed("leave");
    Object.assign(state, { mode, free, fen, label, tags, read, game, flipped, term: null, edits: [], undone: [] });
    changed("view", "play");
    standIn(grown(moves, comment, commands), path);
    await moved("mode", "moves");
}

/** Keep what is on the board from now on. */
export function keepPages() {
    pages.isKept = true;
    writePage();
    listenTo(["moves", "mode", "play", "view"], keepPage);
}
