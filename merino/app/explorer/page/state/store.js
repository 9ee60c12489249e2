// What the page knows: the game or the free position, the weights, what is chosen; and the report of what is shown.

import { explain } from "../base/api.js";
import { pawns, percent, say, shortName, showError, tellError } from "../base/dom.js";
import { append, follow, grown, lineThrough, listed, mainLine, pathTo } from "../base/tree.js";

export const START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
export const EMPTY = "8/8/8/8/8/8/8/8 w - - 0 1";
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
    ["beside", "Beside", "Value by the second evaluation: the value that it gives the piece, or else by removal"],
    ["none", "Off", "No values on the board"],
];

export const SHOWN = "shown"; // in place of an evaluation: the one that the page shows

/** Beside the terms a net that values each piece, and the terms beside a net. */
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
 * @property {string} opening
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

/** @type {State} */
export const state = {
    mode: "game",
    fen: START, // where the game begins
    root: grown([]), // the game as a tree
    node: null, // the move of it that is on the board, the root for none
    moves: [], // the line through that move: nodes of the tree, with san and uci
    at: 0, // how many of them are on the board
    tags: {}, // of a game that was read, or that has ended
    read: [], // the moves of its main line at that time
    opening: "", // its name
    edits: [], // the game before each change, the last one last
    undone: [], // those taken back
    free: START, // the position of free mode
    label: "", // whose game it is
    weights: "in-use",
    changes: {}, // weights moved by hand
    beside: USUAL, // the evaluation whose score and values stand beside, by its id; null for none
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
const listeners = [];

/**
 * Call `listener(topics)` when something changes: "report", "preview", "moves", "mode", "view", "values", "weights",
 * "tab", "lines" of the analysis, "arrows", "opening", "play", the game against Merino or an exercise, "leave", before that
 * game leaves the board, its "clock", or "games", those that are listed.
 */
export const listen = (listener) => listeners.push(listener);

/** Call `action` when one of these topics changes. */
export const listenTo = (topics, action) =>
    listen((now) => {
        if (topics.some((topic) => now.has(topic))) action();
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
    return { fen: state.fen, moves: [...playedMoves().map((move) => move.uci), ...more], free: false, ...by };
}

/** The whole game, as the server is asked for it. */
export const wholeGame = () => ({
    fen: state.fen,
    moves: state.moves.map((move) => move.uci),
    weights: state.weights,
    changes: state.changes,
    edition: state.edition,
});

/** A question to the server, asked of the evaluation with this id. */
export const askedOf = (by, asked) => (by === SHOWN ? asked : { ...asked, weights: by, changes: {} });

state.node = state.root;

let asked = 0;
let previewed = 0; // how often a move was tried, or what was tried became of no use
let reported = ""; // the position of the report

function position() {
    const { fen, moves } = question();
    return JSON.stringify([fen, moves]);
}

/** Whether the report is that of the position on the board, and not still that of one before. */
export const isReported = () => reported === position();

/** Ask for the report of what is on the board, and show it. */
export async function refresh({ silent = false } = {}) {
    const number = ++asked,
        at = position();
    state.preview = null;
    previewed += 1; // what is still asked for is of the board before
    try {
        const report = await explained(question());
        if (number !== asked) return;
        state.report = report;
        reported = at;
        if (report.without_terms) state.term = null;
        if (!ways().some(([name]) => name === state.way)) state.way = "removal";
        changed("report");
        if (!silent) speak();
    } catch (error) {
        if (number === asked) tellError(error);
    }
}

function speak() {
    const { report } = state;
    const last = state.mode === "game" && state.at ? `${state.moves[state.at - 1].san}. ` : "";
    const end = report.ending ? ` ${report.ending}.` : "";
    const fault = report.fault ? ` ${report.fault}.` : "";
    say(
        `${last}Score ${pawns(report.score_cp)}, White expects ${percent(report.static.expected_score)}.${end}${fault}`,
    );
}

/** Stand on a move of the game; the moves shown lead through it. */
function stand(node) {
    if (node !== state.root && !state.moves.includes(node)) state.moves = lineThrough(node);
    state.node = node;
    state.at = pathTo(node).length;
}

/**
 * Show a game, or a position as the start of one, after `at` of its moves; by default after all. `against` is the game
 * against Merino that it is; any other is left.
 * @param {{ fen: string, moves?: any[], label?: string, tags?: Record<string, string>, comment?: string, against?: any }} game
 */
export function setGame({ fen, moves = [], label = "", tags = {}, comment = "", against = null }, at = moves.length) {
    if (state.game) changed("leave");
    const root = grown(moves, comment);
    Object.assign(state, { mode: "game", fen, root, label, tags, term: null, edits: [], undone: [] });
    state.read = mainLine(root);
    state.game = against;
    state.moves = lineThrough(root);
    stand(state.moves[at - 1] ?? root);
    return moved("mode", "moves", "play");
}

/** The tags of the game on the board: its result is that of the moves read or played out, which others may follow. */
export function tagsNow() {
    const { tags, read, root } = state;
    const moves = mainLine(root);
    if (read.every((uci, ply) => uci === moves[ply])) return tags;
    return Object.fromEntries(Object.entries(tags).filter(([name]) => name !== "Result"));
}

/** A function that tells whether the game or position is still the present one, unchanged; another move may be shown. */
export function watchBoard() {
    const { mode, root, edits, free } = state;
    return () => state.mode === mode && state.root === root && state.edits === edits && state.free === free;
}

/** Show a game that was kept: as `setGame`, after the moves of its `path`. */
export function openTree({ path, ...game }) {
    const root = grown(game.moves, game.comment);
    Object.assign(state, { mode: "game", fen: game.fen, root, label: game.label, tags: game.tags });
    state.read = game.read ?? mainLine(root);
    state.moves = lineThrough(root);
    stand(follow(root, path));
    return moved("mode", "moves");
}

/** Tell that other moves are on the board, and ask for the report of their position. */
function moved(...topics) {
    showError(null);
    changed(...topics);
    return refresh();
}

/** The legal moves on the board; none until their report is there. */
const legalMoves = () => (isReported() ? state.report.moves : []);

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
    remember();
    if (isPlaying() && !state.node.children.some(({ uci }) => uci === line[0].uci)) state.node.children = [];
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

const snapshot = () => ({ moves: listed(state.root), path: pathTo(state.node).map((move) => move.uci) });

/** Keep the game as it is, for `undoEdit`. */
function remember() {
    state.edits = [...state.edits.slice(1 - MAX_EDITS), snapshot()];
    state.undone = [];
}

/** Change the game at a move, by default that on the board; `change` gets it, and may return the one to stand on then. */
export function edit(change, move = state.node) {
    if (!move.parent) return Promise.resolve();
    remember();
    const node = change(move) ?? state.node;
    state.moves = lineThrough(node);
    stand(node);
    return moved("moves");
}

function restored(from, to) {
    if (!state[from].length || isPlaying()) return Promise.resolve();
    state[to] = [...state[to], snapshot()];
    const { moves, path } = state[from].at(-1);
    state[from] = state[from].slice(0, -1);
    state.root = grown(moves, state.root.comment);
    state.moves = lineThrough(state.root);
    stand(follow(state.root, path));
    return moved("moves");
}

/** Undo the last change of the game: a move that was added, a comment, a sign, a removal; none of one that is played. */
export const undoEdit = () => restored("edits", "undone");
export const redoEdit = () => restored("undone", "edits");

/** The side to move so many plies after a position. */
export const sideAfter = (fen, plies) => ((fen.split(" ")[1] === "b") === (plies % 2 === 0) ? "black" : "white");

/** The number before a move that is made so many plies after a position, empty where none is written. */
export function numbered(fen, plies, isFirst) {
    const [, turn, , , , full = "1"] = fen.split(" ");
    const half = plies + (turn === "b" ? 1 : 0);
    if (half % 2 && !isFirst) return "";
    return `${Number(full) + Math.floor(half / 2)}.${half % 2 ? ".." : ""}`;
}

/** Show a position of free mode. */
export function setFree(fen) {
    Object.assign(state, { mode: "free", free: fen });
    showError(null);
    changed("mode");
    return refresh();
}

/** Show what would be after a legal move, or with null no longer. */
export async function preview(uci) {
    const number = ++previewed;
    if (!uci) {
        if (state.preview) {
            state.preview = null;
            changed("preview");
        }
        return;
    }
    if (state.preview?.move === uci) return;
    const report = await explained(question(uci)).catch(() => null);
    if (number !== previewed || !report) return;
    state.preview = { report, move: uci };
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

/** The kinds of value that the report has: a net does not tell what a piece adds, unless it is a piece-value net. */
export function ways() {
    const report = state.report;
    const has = { attributed: report?.shared_cp !== null, beside: Boolean(report?.beside) };
    const title = report?.beside ? shortName(report.beside.evaluation) : "";
    return WAYS.filter(([name]) => has[name] ?? true).map(([name, label, what]) => [
        name,
        name === "beside" && title.length <= MAX_LABEL ? title : label,
        what,
    ]);
}

/** What the evaluation beside says of a piece, in centipawns for White; null for kings. */
function besideOf(piece, report) {
    const beside = report?.beside?.pieces.find((each) => each.square === piece.square);
    return !beside || piece.removal_cp === null ? null : (beside.attributed_cp ?? beside.removal_cp);
}

/** Keep with each piece what stands beside. */
function joined(report) {
    for (const piece of report.pieces) piece.beside_cp = besideOf(piece, report);
    return report;
}

const explained = (asked) => explain(asked).then(joined);

/** The value of a piece as chosen, in pawns for White; null where it has none. */
export function shownValue(piece) {
    if (state.way === "beside") return piece.beside_cp === null ? null : piece.beside_cp / 100;
    if (state.way === "removal") return piece.removal_cp === null ? null : piece.removal_cp / 100;
    if (state.way === "relative") return piece.relative_pawns;
    if (state.way === "shapley") return piece.shapley_cp === null ? null : piece.shapley_cp / 100;
    return piece.attributed_cp === null ? null : piece.attributed_cp / 100;
}

/** The legal moves of the piece on a square. */
export const movesFrom = (square) =>
    legalMoves()
        .map((move) => move.uci)
        .filter((uci) => uci.startsWith(square));
