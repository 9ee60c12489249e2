// Always-on analysis: what is on the board is searched, by one evaluation or by two, while somebody looks: while the page
// is visible and has been touched within some minutes.

import { reportError, showError } from "../base/flow.js";
import { keep, recall } from "../base/kept.js";
import { Search, onCompiling, post } from "../base/server.js";
import { pathTo, ucis } from "../base/game.js";
import { SHOWN, changed, isReported, isUnaided, listen, question, state } from "./store.js";

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
    const isKnown = state.report && (state.mode === "game" || isReported()); // as what is put together may be illegal
    if (by === NONE || isUnaided() || !isKnown || state.report.fault) return null;
    const all_moves = choice === "by" && ranking.isShown;
    return judged({ ...question(), lines: settings.lines, all_moves }, by);
}

/** Keep what the judge finds of the position on the board, and grade the moves that lead there and on. */
function change() {
    const [{ search }] = searches;
    if (search.lines[0] && state.mode === "game" && search.isCurrent(search.key)) {
        keepLines(state.node, search.found);
        for (const node of [state.node, ...state.node.children]) grade(node);
    }
    changed("lines");
}

/** Who judges now, with all that verdicts depend on, as text; others' are not shown. */
export const judgeNow = () =>
    JSON.stringify(judged({ weights: state.weights, changes: state.changes, edition: state.edition }));

/** The lines that are found of the position after a move, by the deepest of all searches; empty while there are none. */
export const knownOf = (node) => (node.known?.by === judgeNow() ? node.known.lines : []);

/** Keep lines that a search has found after a move, unless a deeper one was there. */
export function keepLines(node, lines) {
    if (lines[0].depth >= (knownOf(node)[0]?.depth ?? 0)) node.known = { by: judgeNow(), lines };
}

/**
 * What is found of a move: the `loss`, a share of the points, the `grade` of that, null for none, and by the search of the
 * game `mistake` and `claims`, what kind of mistake it is, and `after`, the score; undefined while nothing is.
 */
export const verdictOf = (node) => (node.verdict?.by === judgeNow() ? node.verdict : undefined);

/** Note a verdict, which is by these lines, those before the move and after it. */
export function note(node, lines, verdict) {
    node.verdict = { ...verdict, lines, by: judgeNow() };
    grade(node);
}

/** A line as the server is asked of it. */
export const sent = ({ moves, depth, score: { cp, mate, expected_score } }) => ({
    ...{ moves, depth },
    score: { cp, mate, expected_score },
});

/** Let the server say what a move gives away, by what is found before and after it, where that is deeper than it was. */
async function grade(node) {
    const lines = [node.parent, node].map((each) => each && knownOf(each)[0]);
    const { by, lines: old = [] } = node.verdict ?? {};
    const isDeep = lines.every((line) => line?.depth >= MIN_DEPTH);
    if (!lines.every(Boolean) || !(isDeep || verdictOf(node))) return;
    if (by === judgeNow() && lines.every((line, at) => line === old[at])) return;
    const { weights, changes, edition, fen } = state;
    const [before, after] = lines.map(sent);
    const verdict = { ...verdictOf(node), by: judgeNow(), lines };
    node.verdict = verdict; // as it was until the answer
    const asked = { ...judged({ weights, changes, edition }), fen, moves: ucis(pathTo(node)), before, after };
    const answer = await post("/api/loss", asked).catch(reportError);
    if (node.verdict !== verdict) return;
    Object.assign(verdict, answer);
    changed("lines");
}

export const searches = ["by", "beside"].map((choice) => ({
    choice,
    search: new Search(() => askedBy(choice), change),
}));

/** The lines of the position on the board, the best first: those of the deepest search, and others of the one that runs. */
export function found() {
    const kept = state.mode === "game" && !isUnaided() ? knownOf(state.node) : [];
    const others = searches[0].search.found.filter((line) => kept.every(({ moves }) => moves[0] !== line.moves[0]));
    return [...kept, ...others];
}

/** The best of them, undefined while there is none. */
export const best = () => found()[0];

/** The one that begins with a move, undefined while there is none. */
export const lineOf = (uci) => found().find((line) => line.moves[0] === uci);

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
