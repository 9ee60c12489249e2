// Every legal move, ranked by a search that goes deeper while one looks; next to it, what the move changes at once, as a
// heat map of moves by terms. Two moves can be compared: both are searched, and their lines and terms set against each other.

import { byId, columnHead, h, keepFocus, note, replace, tableBox, tableRow } from "../base/dom.js";
import { afterPress, framed, reportError } from "../base/flow.js";
import { bySize, number, percent, spaced, thousands, tint, withMinus, worded } from "../base/words.js";
import { compilingText, explainLine, onCompiling, post } from "../base/server.js";
import { follow, found, lineOf, ranking, searches, sent, settings } from "../state/analysis.js";
import { listenTo, play, playLine, preview, question, state } from "../state/store.js";
import { proofs, unfolding } from "./verdict.js";
import { sortHead } from "./terms.js";

const NODES = 50000; // of each search for why one of two moves is better
const MIN_SHOWN = 0.05; // centipawns
const MAX_SCALE = 120; // centipawns of the strongest colour
const COMPARED_SCALE = 60; // the same where two moves are compared
const UP_FIRST = new Set(["search", "san"]); // columns whose least value is sorted first

let sort = { key: "search", up: true };
/** @type {any} */
let picked = []; // SAN of moves to compare
/** @type {any} */
let compared = null;
let asked = ""; // the moves that were compared last, or are, and their scores
let isComparing = false;
/** @type {any} */
let columns = []; // the terms shown
let rows = new Map(); // by move: { row, tick, score, share }
let isShown = () => false;

const [{ search }] = searches; // of every move while they are shown

const linesByMove = () => new Map(found().map((line, at) => [line.moves[0], { ...line, rank: at + 1 }]));

/** What a column sorts a move by. */
function keyOf(move, found) {
    const own = {
        search: found.get(move.uci)?.rank ?? found.size + move.rank,
        san: move.san,
        change: move.change.change_cp,
    };
    return own[sort.key] ?? move.change.terms.find((term) => term.name === sort.key)?.change_cp ?? 0;
}

function ordered(found) {
    const keys = new Map(state.report.moves.map((move) => [move, keyOf(move, found)]));
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    return [...state.report.moves].sort((a, b) => (sort.up ? 1 : -1) * compare(keys.get(a), keys.get(b)));
}

/** Write what the search has found into the table, and rank its rows; not under the pointer, nor around the focus. */
const showFound = framed(() => {
    if (!isShown() || !rows.size) return;
    const found = linesByMove();
    for (const [uci, { score, share }] of rows) {
        const line = found.get(uci);
        score.textContent = withMinus(line?.score.text ?? "");
        score.title = line?.text ?? "";
        share.textContent = line ? percent(line.score.expected_score) : "";
    }
    byId("search-state").textContent = stateOfSearch();
    byId("search-moves").textContent = ranking.isPaused ? "Search on" : "Stop the search";
    byId("compared-search")?.replaceWith(searchedRow());
    compare();
    const body = bodyOf();
    if (body.matches(":hover, :focus-within")) return;
    const order = ordered(found).map((move) => rows.get(move.uci).row);
    if (order.some((row, at) => body.children[at] !== row)) body.append(...order);
});

function stateOfSearch() {
    const [line] = search.lines;
    if (!line) return ranking.isPaused ? "" : compilingText() || "searching";
    return `depth ${line.depth}, ${thousands(Math.round(line.nodes / 1000))} thousand positions`;
}

function pick(san, isPicked) {
    picked = isPicked ? [...picked, san].slice(-2) : picked.filter((each) => each !== san);
    for (const move of state.report.moves) rows.get(move.uci).tick.checked = picked.includes(move.san);
    compared = null;
    asked = "";
    replace(byId("moves-compared"));
    compare();
}

/** The lines of the two picked moves; none while the search lacks one. */
function pickedLines() {
    const lines = picked.map((san) => lineOf(state.report.moves.find((move) => move.san === san)?.uci));
    return lines.every(Boolean) ? lines : [];
}

/**
 * Let the server say which of two moves is better, and why: by their lines in the search, again once these are others; by
 * searches of its own where that search was stopped before it had any.
 */
async function compare() {
    const lines = pickedLines();
    const now = [picked, ...lines.map(({ score }) => score.text)].join();
    const isDue = lines.length ? now !== asked : ranking.isPaused && !compared;
    if (picked.length < 2 || isComparing || !isDue) return;
    isComparing = true;
    asked = now;
    const [first_move, second_move] = picked;
    const body = { ...question(), judge: settings.by, first_move, second_move, nodes: NODES, lines: lines.map(sent) };
    const answer = await post("/api/compare", body).catch(reportError);
    isComparing = false;
    if (picked.join() === [first_move, second_move].join() && asked === now) {
        const isSaid = `${compared?.why}` === `${answer?.why}`;
        compared = answer ?? compared;
        if (!isSaid) afterPress(byId("moves-compared"), showComparison);
    }
    compare();
}

/** Show it; what was unfolded stays so. */
function showComparison() {
    const [proof] = byId("moves-compared").getElementsByTagName("details");
    replace(byId("moves-compared"), comparison());
    if (proof?.open) byId("moves-compared").querySelector("details").open = true;
}

const comparedRow = (title, values, digits, colour) => {
    const [a, b, difference] = values.map((value) => number(value, digits, true));
    return tableRow(title, [a, b, h("td", { style: { background: colour } }, difference)]);
};

function comparedTerms(...changes) {
    const [a, b] = changes.map(({ terms }) => Object.fromEntries(terms.map((term) => [term.name, term.change_cp])));
    return [...new Set([...Object.keys(a), ...Object.keys(b)])]
        .map((name) => [name, a[name] ?? 0, b[name] ?? 0])
        .filter(([, x, y]) => Math.abs(x) >= MIN_SHOWN || Math.abs(y) >= MIN_SHOWN)
        .sort(bySize(([, x, y]) => y - x))
        .map(([name, x, y]) => comparedRow(spaced(name), [x, y, y - x], 1, tint(y - x, COMPARED_SCALE)));
}

/** Play so many moves of the line of a claim, which begins on the board or after one of the two moves. */
async function playProof({ fen }, steps) {
    const both = await Promise.all(compared.moves.map(({ uci }) => explainLine(question(), [uci])));
    const first = both.map((found) => found.steps[0]).filter((step) => step.fen === fen);
    await playLine([...first, ...steps]);
}

/** The card that shows two moves compared; null for none. */
function comparison() {
    if (!compared) return null;
    const [a, b] = compared.moves;
    const { why, claims, summary, change } = compared;
    const heads = ["Term", a.san, b.san, "Difference"].map((title) => columnHead(title));
    const changes = [a.change.change_cp, b.change.change_cp, change.change_cp];
    const whole = comparedRow("Change of the score", changes, 0, "");
    const terms = comparedTerms(a.change, b.change);
    const reasons = unfolding("#why", {}, () => proofs(claims, playProof));
    reasons.summary.textContent = withMinus(why.join(" "));
    return h(
        "section#comparison.card",
        h("h3", `${b.san} instead of ${a.san}`),
        reasons.box,
        note(worded(`At once: ${summary.join(" ")}`)),
        tableBox("Terms of both moves", ".plain-table", heads, h("tbody", searchedRow(), terms), h("tfoot", whole)),
    );
}

/** The scores of both moves by the search, as they are above. */
function searchedRow() {
    const scores = compared.moves.map(({ uci, score }) => withMinus((lineOf(uci)?.score ?? score)?.text ?? ""));
    return tableRow("Score by search", [...scores, ""], { id: "compared-search" });
}

function headCell(key, title, kind) {
    const choose = () => {
        sort = { key, up: sort.key === key ? !sort.up : UP_FIRST.has(key) };
        draw();
    };
    return sortHead(title, kind, sort.key === key ? sort.up : undefined, { onclick: choose });
}

const head = () =>
    h(
        "tr",
        h("th.tick", h("span.hidden", "Compare")),
        headCell("san", "Move", "move"),
        headCell("search", "Search"),
        columnHead("White"),
        headCell("change", "Change"),
        columns.map((name) => headCell(name, spaced(name), "turned")),
    );

function heatCell(value, scale) {
    const text = Math.abs(value) < MIN_SHOWN ? "" : number(value, 0, true);
    return h("td.heat", { style: { background: tint(value, scale) } }, text);
}

/** A legal move, tried while it has the focus, and played by a press. */
export function moveButton({ uci, san }) {
    const leave = () => preview(null);
    const take = () => {
        leave();
        play(uci);
    };
    return h("button.plain", { title: "Play it", onfocus: () => preview(uci), onblur: leave, onclick: take }, san);
}

function makeRow(move, scale) {
    const { uci, san, change } = move;
    const nets = new Map(change.terms.map((term) => [term.name, term.change_cp]));
    const onchange = (event) => pick(san, event.target.checked);
    const box = { type: "checkbox", "aria-label": `Compare ${san}`, checked: picked.includes(san), onchange };
    const [tick, score, share] = [h("input", box), h("td.strong", { "data-searched": uci }), h("td")];
    const row = h(
        "tr",
        { "data-move": uci, onpointerenter: () => preview(uci), onpointerleave: () => preview(null) },
        h("td.tick", tick),
        h("th.move", { scope: "row" }, moveButton(move)),
        score,
        share,
        h("td", { style: { background: tint(change.change_cp, scale) } }, number(change.change_cp, 0, true)),
        columns.map((name) => heatCell(nets.get(name) ?? 0, scale)),
    );
    rows.set(uci, { row, tick, score, share });
    return row;
}

/** The terms that some move changes. */
function changedTerms(report) {
    const totals = new Map();
    for (const term of report.moves.flatMap((move) => move.change.terms))
        totals.set(term.name, (totals.get(term.name) ?? 0) + Math.abs(term.change_cp));
    return report.terms.map((term) => term.name).filter((name) => (totals.get(name) ?? 0) >= MIN_SHOWN);
}

function scaleOf(report) {
    const changes = report.moves.flatMap((move) => (report.without_terms ? [move.change] : move.change.terms));
    return Math.min(MAX_SCALE, Math.max(1, ...changes.map((each) => Math.abs(each.change_cp))));
}

function pause() {
    ranking.isPaused = !ranking.isPaused;
    follow();
    showFound();
}

const bodyOf = () => byId("move-table").tBodies[0];

function draw() {
    const { report } = state;
    if (!report || !isShown()) return;
    const hasMoves = report.moves.length > 0;
    byId("moves-nothing").hidden = hasMoves;
    byId("moves-nothing").textContent = `There are no moves: ${report.fault ?? report.ending}.`;
    byId("moves-ranked").hidden = !hasMoves;
    rows = new Map();
    if (!hasMoves) return;
    columns = changedTerms(report);
    const scale = scaleOf(report);
    const made = ordered(linesByMove()).map((move) => makeRow(move, scale));
    keepFocus(byId("moves-ranked"), () => {
        byId("move-table").tHead.replaceChildren(head());
        bodyOf().replaceChildren(...made);
    });
    replace(byId("moves-compared"), comparison());
    showFound();
}

export function makeMoves(_, isOpen) {
    isShown = isOpen;
    byId("search-moves").onclick = pause;
    bodyOf().onpointerleave = bodyOf().onfocusout = () => showFound();
    onCompiling(showFound);
    listenTo(["lines"], showFound);
    listenTo(["report", "tab", "play"], (topics) => {
        ranking.isShown = isShown();
        if (topics.has("report")) {
            picked = [];
            compared = null;
            asked = "";
        }
        follow();
        draw();
    });
}
