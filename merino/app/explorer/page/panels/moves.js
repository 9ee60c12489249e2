// Every legal move, ranked by a search that goes deeper while one looks; beside it, what the move changes at once, as a
// heat map of moves by terms. Two moves can be compared.

import { isLooked, onLook } from "../base/attention.js";
import { compilingText, onCompiling } from "../base/compiling.js";
import {
    columnHead,
    framed,
    h,
    number,
    panelBar,
    pawns,
    percent,
    replace,
    scrolling,
    spaced,
    tint,
    withMinus,
} from "../base/dom.js";
import { Search } from "../base/searching.js";
import { isUnaided, listen, play, preview, question, state } from "../state/store.js";
import { compareMoves, comparison } from "./two_moves.js";

const MIN_SHOWN = 0.05; // centipawns
const MAX_SCALE = 120; // centipawns of the strongest colour
const UP_FIRST = new Set(["search", "rank", "san"]); // columns whose least value is sorted first

let sort = { key: "search", up: true };
/** @type {any} */
let picked = []; // SAN of moves to compare
/** @type {any} */
let compared = null;
let isPaused = false;
/** @type {any} */
let columns = []; // the terms shown
let rows = new Map(); // by move: { row, score, share }
let parts = {};
let isShown = () => false;

const canSearch = () => isShown() && Boolean(state.report?.moves.length) && !isUnaided();
const search = new Search(
    () => (canSearch() ? { ...question(), beside: null, all_moves: true } : null),
    () => showFound(),
);

function follow() {
    if (!isPaused && isLooked() && canSearch()) search.follow();
    else search.stop();
}

const foundOf = () => new Map(search.found.map((line) => [line.moves[0], line]));

/** What a column sorts a move by. */
function keyOf(move, found) {
    const rank = found.get(move.uci)?.number ?? found.size + move.rank;
    const change = () => move.change.terms.find((term) => term.name === sort.key)?.change_cp ?? 0;
    const own = {
        search: rank,
        rank: move.rank,
        san: move.san,
        change: move.change.change_cp,
        expected: move.expected_score,
    };
    return own[sort.key] ?? change();
}

function ordered(found) {
    const keys = new Map(state.report.moves.map((move) => [move, keyOf(move, found)]));
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    return [...state.report.moves].sort((a, b) => (sort.up ? 1 : -1) * compare(keys.get(a), keys.get(b)));
}

/** Whether the rows may change places: not under the pointer, nor around the focus. */
const mayMove = () => !parts.body.matches(":hover, :focus-within");

/** Write what the search has found into the table, and rank its rows anew. */
const showFound = framed(() => {
    if (!isShown() || !parts.body?.isConnected) return;
    const found = foundOf();
    for (const [uci, { score, share }] of rows) {
        const line = found.get(uci);
        score.textContent = line ? withMinus(line.score.text) : "";
        score.title = line?.text ?? "";
        share.textContent = line ? percent(line.score.expected_score) : "";
    }
    parts.state.textContent = stateOfSearch();
    parts.pause.textContent = isPaused ? "Search on" : "Stop the search";
    if (mayMove()) arrange(found);
});

function arrange(found) {
    const order = ordered(found).map((move) => rows.get(move.uci).row);
    if (order.some((row, at) => parts.body.children[at] !== row)) parts.body.append(...order);
}

function stateOfSearch() {
    const [line] = search.lines;
    if (!line) return isPaused ? "" : compilingText() || "searching";
    return `depth ${line.depth}, ${Math.round(line.nodes / 1000).toLocaleString("en")} thousand positions`;
}

const comparisonNow = () => (compared ? comparison(compared) : null);

async function pick(san, isPicked) {
    picked = isPicked ? [...picked, san].slice(-2) : picked.filter((each) => each !== san);
    for (const move of state.report.moves) rows.get(move.uci).tick.checked = picked.includes(move.san);
    const wanted = picked;
    compared = null;
    const found = picked.length === 2 ? await compareMoves(...picked) : null;
    if (wanted !== picked) return;
    compared = found;
    replace(parts.comparison, comparisonNow());
}

function headCell(key, title, kind) {
    const direction = sort.key === key ? (sort.up ? "ascending" : "descending") : undefined;
    const choose = () => {
        sort = { key, up: sort.key === key ? !sort.up : UP_FIRST.has(key) };
        draw();
    };
    const button = h("button", { type: "button", class: "plain", onclick: choose }, h("span", {}, title));
    return columnHead(button, { class: kind, "aria-sort": direction });
}

const head = () =>
    h(
        "tr",
        {},
        h("th", { class: "tick" }, h("span", { class: "hidden" }, "Compare")),
        headCell("san", "Move", "move"),
        headCell("search", "Search"),
        columnHead("White"),
        headCell("rank", "Static"),
        headCell("change", "Change"),
        columns.map((name) => headCell(name, spaced(name), "turned")),
    );

function heatCell(value, scale) {
    const text = Math.abs(value) < MIN_SHOWN ? "" : number(value, 0, true);
    return h("td", { class: "heat", style: { background: tint(value, scale) } }, text);
}

function moveButton(move) {
    const leave = () => preview(null);
    const take = () => {
        leave();
        play(move.uci);
    };
    const own = { onfocus: () => preview(move.uci), onblur: leave, onclick: take };
    return h("button", { type: "button", class: "plain", title: "Play it", ...own }, move.san);
}

function makeRow(move, scale) {
    const nets = new Map(move.change.terms.map((term) => [term.name, term.change_cp]));
    const tick = h("input", {
        type: "checkbox",
        "aria-label": `Compare ${move.san}`,
        checked: picked.includes(move.san),
        onchange: (event) => pick(move.san, event.target.checked),
    });
    const score = h("td", { class: "strong", "data-searched": move.uci });
    const share = h("td");
    const row = h(
        "tr",
        { "data-move": move.uci, onpointerenter: () => preview(move.uci), onpointerleave: () => preview(null) },
        h("td", { class: "tick" }, tick),
        h("th", { scope: "row", class: "move" }, moveButton(move)),
        score,
        share,
        h("td", { title: `White expects ${percent(move.expected_score)}` }, pawns(move.change.after_cp)),
        h("td", { style: { background: tint(move.change.change_cp, scale) } }, number(move.change.change_cp, 0, true)),
        columns.map((name) => heatCell(nets.get(name) ?? 0, scale)),
    );
    rows.set(move.uci, { row, tick, score, share });
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
    isPaused = !isPaused;
    follow();
    showFound();
}

function makeParts() {
    parts = {
        pause: h("button", { type: "button", id: "search-moves", onclick: pause }),
        state: h("span", { class: "note", id: "search-state" }),
        comparison: h("div", {}, comparisonNow()),
        body: h("tbody", { onpointerleave: () => showFound(), onfocusout: () => showFound() }),
    };
}

function draw(panel = document.getElementById("panel-moves")) {
    const { report } = state;
    if (!report || !isShown()) return;
    if (!report.moves.length) {
        replace(panel, h("p", { class: "empty" }, `There are no moves: ${report.fault ?? report.ending}.`));
        return;
    }
    columns = changedTerms(report);
    rows = new Map();
    makeParts();
    const scale = scaleOf(report);
    parts.body.append(...ordered(foundOf()).map((move) => makeRow(move, scale)));
    const table = h("table", { class: "heat-map", id: "move-table" }, h("thead", {}, head()), parts.body);
    const hint = "Changes are those at once, in centipawns for White: blue is good for White, orange for Black. ";
    replace(
        panel,
        panelBar(parts.pause, parts.state),
        parts.comparison,
        h("div", scrolling("Moves", "scroll tall"), table),
        h("p", { class: "note" }, hint, "Tick two moves to compare them."),
    );
    showFound();
}

export function makeMoves(panel, isOpen) {
    isShown = isOpen;
    onCompiling(showFound);
    onLook(follow);
    listen((topics) => {
        if (topics.has("report")) {
            picked = [];
            compared = null;
        }
        if (!topics.has("report") && !topics.has("tab") && !topics.has("play")) return;
        follow();
        draw(panel);
    });
}
