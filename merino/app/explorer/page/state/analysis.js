// Always-on analysis: what is on the board is searched, by one evaluation or by two, while somebody looks: while the page
// is visible and has been touched within some minutes.

import { showError } from "../base/flow.js";
import { keep, recall } from "../base/kept.js";
import { Search, onCompiling } from "../base/server.js";
import { pathTo, sideAfter } from "../base/game.js";
import { SHOWN, changed, isUnaided, listen, question, state } from "./store.js";

export const NONE = "";
const JUDGE = "judge"; // in place of an evaluation: who judges if nobody else is chosen
const MAX_LINES = 5;
const MIN_DEPTH = 12; // from which on a move is graded
const SIGNS = ["pointermove", "pointerdown", "keydown", "wheel"]; // of somebody at the page

/** Milliseconds without a sign after which nobody looks. */
export const patience = { ms: 10 * 60 * 1000 };

const lookers = [];
let last = performance.now();
let wasLooked = true;

export const isLooked = () => !document.hidden && performance.now() - last < patience.ms;

/** Call `listener` when somebody begins to look, or nobody does any longer. */
export const onLook = (listener) => lookers.push(listener);

function checkLook() {
    if (isLooked() === wasLooked) return;
    wasLooked = !wasLooked;
    for (const listener of lookers) listener();
}

function touch() {
    last = performance.now();
    if (!wasLooked) checkLook();
}

for (const sign of SIGNS) document.addEventListener(sign, touch, { passive: true, capture: true });
document.addEventListener("visibilitychange", () => {
    if (!document.hidden) last = performance.now();
    checkLook();
});
setInterval(checkLook, 1000);

const NAMES = {
    isOn: "analysis",
    lines: "analysis-lines",
    by: "analysis-by",
    beside: "analysis-beside",
    arrows: "analysis-arrows",
};
const isCount = (value) => Number.isInteger(value) && value >= 1 && value <= MAX_LINES;

/** What the user has chosen, kept between visits. `by`, who judges on the page, and `beside` are ids of evaluations. */
export const settings = {
    isOn: recall(NAMES.isOn, true),
    lines: recall(NAMES.lines, 3, isCount),
    by: recall(NAMES.by, JUDGE),
    beside: recall(NAMES.beside, NONE),
    arrows: recall(NAMES.arrows, true),
};

/** Whether every legal move is searched, for a table that ranks them, and whether that waits. */
export const ranking = { isShown: false, isPaused: false };

/**
 * A question to who judges, by default as chosen; the weights shown are part of it only where they judge.
 * @returns {any}
 */
export const judged = (/** @type {any} */ { weights, changes, beside, ...asked }, judge = settings.by) =>
    judge === SHOWN ? { ...asked, weights, changes, judge } : { ...asked, judge };

/** What the server is asked for a setting that names an evaluation; null for none, and while nobody is to be helped. */
function askedBy(choice) {
    const by = settings[choice];
    if (by === NONE || isUnaided() || !state.report || state.report.fault) return null;
    const all_moves = choice === "by" && ranking.isShown;
    return judged({ ...question(), lines: settings.lines, all_moves }, by);
}

/** Note on the move on the board what is found of its position, from a depth on that says something. */
function change() {
    const [{ search }] = searches,
        [line] = search.lines;
    if (line?.depth >= MIN_DEPTH && state.mode === "game" && search.isCurrent(search.key)) {
        const share = line.score.expected_score;
        state.node.known = { by: settings.by, share, best: line.moves[0], name: line.names[0] };
    }
    changed("lines");
}

/** What the judge has found of the position after a move; undefined while that is nothing. */
export const knownOf = (node) => (node?.known?.by === settings.by ? node.known : undefined);

/** What a move gives away of the points, by what is found before and after it; null while that is not known. */
export function lossOf(node) {
    const before = knownOf(node.parent),
        after = knownOf(node);
    if (!before || !after) return null;
    const isWhite = sideAfter(state.fen, pathTo(node).length - 1) === "white";
    const fall = isWhite ? before.share - after.share : after.share - before.share;
    return before.best === node.uci ? 0 : Math.max(0, fall);
}

/**
 * The kinds of mistakes by what they give away, the worst first, as the server says them.
 * @type {{least_loss: number, name: string, sign: string}[]}
 */
export const grades = [];

/** The kind of mistake that a move is; undefined for none. */
export const gradeOf = (node) => grades.find(({ least_loss: least }) => (lossOf(node) ?? 0) >= least);

export const searches = ["by", "beside"].map((choice) => ({
    choice,
    search: new Search(() => askedBy(choice), change),
}));

/** The best line of the search, undefined while there is none. */
export const best = () => searches[0].search.lines[0];

/** The line of the search that begins with a move, undefined while there is none. */
export const lineOf = (uci) => searches[0].search.found.find((line) => line.moves[0] === uci);

/** Why nothing is searched, in words; null if it is. */
export function idleReason() {
    if (ranking.isShown ? ranking.isPaused : !settings.isOn) return ranking.isShown ? "stopped" : "off";
    if (isUnaided()) return state.exercise ? "off during an exercise" : "off while you play";
    if (state.report?.fault) return "no legal position";
    if (!isLooked()) return "resting until somebody looks";
    return null;
}

export function follow() {
    for (const { choice, search } of searches)
        if (idleReason() === null && (settings.isOn || choice === "by")) search.follow();
        else search.stop();
}

/** Choose a setting, and search by it. */
export function choose(name, value) {
    settings[name] = value;
    keep(NAMES[name], value);
    if (name === "by") showError(null); // of the judge before
    follow();
    changed("lines", ...(name === "by" ? ["judge"] : []));
}

export const switchAnalysis = () => choose("isOn", !settings.isOn);

export function makeAnalysis() {
    onLook(follow);
    onCompiling(change);
    listen((topics) => {
        if (topics.has("report") || topics.has("weights") || topics.has("play")) follow();
        else if (topics.has("moves") && state.mode === "game") follow();
    });
}
