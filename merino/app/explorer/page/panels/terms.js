// The table of terms: what each adds for each side, and where it comes from.

import { byId, columnHead, h, note, nothing, replace, tableBox, tableRow } from "../base/dom.js";
import { bySize, number, pawns, percent, shortName, spaced } from "../base/words.js";
import { picture } from "../board/board.js";
import { changed, listenTo, shown, state } from "../state/store.js";

const COLUMNS = [
    ["name", "Term"],
    ["white_count", "White", "wide"],
    ["black_count", "Black", "wide"],
    ["white_cp", "White cp"],
    ["black_cp", "Black cp"],
    ["net_cp", "Net"],
];
const WHEN = { always: "counts always", middlegame: "counts in the middlegame", endgame: "counts in the endgame" };
const MIN_SHOWN = 0.05;
const MIN_REST = 1; // centipawns of a piece in what a net sees more
/** @type {any} */
let sort = null; // { key, up }; by group while null
let catalogue = new Map();

/** Take the sentences of the terms, and what sentences call them. */
export function learnTerms(terms) {
    catalogue = new Map(terms.map((term) => [term.name, term]));
}

/** What sentences call the terms of the report. */
export const phrases = () => [...catalogue.values()].flatMap((term) => term.phrases);

/** The term that a sentence calls so: of several that which adds most. */
export function calledSo(phrase) {
    const report = shown();
    const cp = new Map(report.terms.map((term) => [term.name, term.net_cp]));
    for (const term of report.words?.terms ?? []) cp.set(term.name, term.cp);
    const named = [...catalogue.values()].filter((term) => term.phrases.includes(phrase) && cp.has(term.name));
    return named.sort(bySize((term) => cp.get(term.name)))[0]?.name ?? null;
}

const size = (term) => Math.abs(term.net_cp);

function bar(value, scale) {
    const width = `${(50 * Math.abs(value)) / scale}%`;
    const bar =
        value < 0 ? h("i.orange", { style: { right: "50%", width } }) : h("i.blue", { style: { left: "50%", width } });
    return h("span.bar", bar);
}

const figure = (value, digits, sign) =>
    Math.abs(value) < 0.5 * 10 ** -digits ? nothing() : number(value, digits, sign);
const net = (value) => h("td.strong.net", figure(value, 1, true));

/** A row of the table: counts of both sides, null for none, centipawns of both, their difference, its bar, its share. */
const termCells = (counts, centipawns, difference, bar, share) => [
    ...counts.map((count) => h("td.wide", count === null ? "" : figure(count, 2))),
    ...centipawns.map((value) => figure(value, 1)),
    difference,
    h("td.bar-cell", bar),
    h("td.share", share),
];

/** What a group or a term is worth, if that has been measured. */
const worthOf = (worth) => worth && h("span.note", ` worth ${number(worth[0], 0)} \u00b1 ${worth[1]} Elo`);

function row(term, scale, total) {
    const { name, white_count: white, black_count: black } = term;
    const isOpen = state.term === name;
    const toggle = () => {
        state.term = isOpen ? null : name;
        changed("term");
    };
    const button = h("button.plain", { "aria-expanded": String(isOpen) }, spaced(name));
    const head = [button, worthOf(catalogue.get(name)?.worth)];
    const counts = term.cells ? [null, null] : [white, black];
    const share = total ? percent(size(term) / total) : "";
    const cells = termCells(counts, [term.white_cp, term.black_cp], net(term.net_cp), bar(term.net_cp, scale), share);
    const attributes = { class: isOpen ? "open" : "", "data-term": name, onclick: toggle };
    return [tableRow(head, cells, attributes), isOpen ? detail(term) : null];
}

function weightOf(term) {
    const whole = `${number(term.weight, 1)} centipawns`;
    if (term.weight_mg === term.weight_eg) return whole;
    return `${whole} here, ${number(term.weight_mg, 1)} in the middlegame, ${number(term.weight_eg, 1)} in the endgame`;
}

/** The pieces that a term counts, and what each adds. */
function sources({ name }) {
    const report = shown();
    const mine = report.pieces.filter((piece) => name in piece.terms).sort(bySize((piece) => piece.terms[name]));
    const shared = report.shared_terms[name];
    const added = (value) => h("b", number(value, 1, true));
    const item = ({ piece, square, terms }) => h("li", picture(piece, 18), `${square} `, added(terms[name]));
    const isEmpty = !mine.length && !shared;
    return h(
        "ul.row.sources",
        mine.map(item),
        shared ? h("li", "shared ", added(shared)) : null,
        isEmpty ? h("li", "No piece on the board adds to it.") : null,
    );
}

function detail(term) {
    const { cells } = term; // of a table, in which nothing is counted once for all
    const times = term.multiplier === 1 ? "" : `, times ${term.multiplier} of its group`;
    const weight = cells ? ` A table of ${cells} weights${times}` : ` Weight ${weightOf(term)}${times}`;
    const counts = `(${number(term.white_count, 2)} \u2212 ${number(term.black_count, 2)})`;
    const sum = `${counts} \u00d7 ${number(term.weight, 1)} = ${number(term.net_cp, 1, true)} centipawns for White`;
    const sentence = h("b", catalogue.get(term.name)?.sentence ?? "");
    return h(
        "tr.detail",
        h(
            "td",
            { colspan: 8 },
            h("p", sentence, `${weight}; ${WHEN[term.phase]}.`),
            cells ? null : h("p.note.sum", sum),
            sources(term),
        ),
    );
}

function groupRow(group, terms) {
    const sum = (key) => terms.reduce((total, term) => total + term[key], 0);
    const cells = termCells([null, null], [sum("white_cp"), sum("black_cp")], net(sum("net_cp")), "", "");
    const head = [group, worthOf(catalogue.get(terms[0].name)?.group_worth)];
    const made = tableRow(head, cells, { class: "group", "data-group": group });
    made.firstElementChild.setAttribute("scope", "rowgroup");
    return made;
}

function totals({ static: { sum_cp, rule_cp, rounding_cp, score_cp } }) {
    const empty = () => h("td.wide");
    const line = (name, value, digits, id) =>
        tableRow(name, [empty(), empty(), "", "", h("td.strong.net", { id }, number(value, digits, true)), "", ""]);
    return [
        line("Sum", sum_cp, 1),
        Math.abs(rule_cp) >= MIN_SHOWN ? line("Draw rule", rule_cp, 1, "term-rule") : null,
        Math.abs(rounding_cp) >= MIN_SHOWN ? line("Rounding", rounding_cp, 1) : null,
        line("Score", score_cp, 0, "term-score"),
    ];
}

/** Values with their bars; a row is what has the value, the value, and the attributes of the row. */
function barTable(id, rows) {
    const scale = Math.max(1, ...rows.map(([, value]) => Math.abs(value)));
    const row = ([head, value, more]) =>
        tableRow(head, [h("td.strong.net", number(value, 1, true)), h("td.bar-cell", bar(value, scale))], more);
    return h(`table#${id}.terms`, h("tbody", rows.map(row)));
}

/** The account of a score in the terms: what each adds by it, and what they do not explain. */
function accountOf({ terms, r2, rest }) {
    const seen = terms.filter((term) => Math.abs(term.cp) >= MIN_SHOWN).sort(bySize((term) => term.cp));
    const line = (name, value, term) => [name, value, { "data-said": name, "data-said-term": term }];
    const share = percent(Math.max(0, r2));
    const rows = seen.map((term) => line(spaced(term.name), term.cp, term.name));
    return [
        h("p#words-share", `The terms explain ${share} of how moves change the score:`),
        barTable("words-table", [...rows, line("What the terms do not explain", rest)]),
    ];
}

/** What of the rest goes with each piece, when it is taken off the board. */
function restOf(pieces, rests) {
    const size = ({ square }) => Math.abs(rests[square]);
    const parts = pieces.filter((piece) => size(piece) >= MIN_REST).sort(bySize(size));
    const line = ({ piece, square }) => [[picture(piece, 18), ` ${square}`], rests[square]];
    return [
        h("p", "What they do not explain, by the piece that is taken off (a king: that stands at home):"),
        barTable("rest-table", parts.map(line)),
    ];
}

/** What is said in the place of the table where an evaluation has no terms. */
function withoutTerms(report) {
    const { beside, words } = report;
    const other = beside ? `; by ${shortName(beside.evaluation)} it is ${pawns(beside.score_cp)}.` : ".";
    const where = " The board and Pieces show its value of each piece; Compare shows it next to the terms.";
    return [
        h("p#without-terms.empty", `${report.without_terms}.`),
        words ? [accountOf(words), restOf(report.pieces, words.rest_by_piece)] : null,
        h("p", `Its score is ${pawns(report.score_cp)} pawns${other}${where}`),
    ];
}

/** Sort by a column; again, the other way; a third time, by group as at first. */
function turn(key) {
    const isFirst = key === "name";
    if (sort?.key !== key) sort = { key, up: isFirst };
    else sort = sort.up === isFirst ? { key, up: !isFirst } : null;
    draw();
}

/** The head of a column by which a table is sorted, with the direction where it is that column. */
export function sortHead(title, kind, direction, attributes) {
    const sorted = direction === undefined ? undefined : direction ? "ascending" : "descending";
    return columnHead(h("button.plain", attributes, h("span", title)), { class: kind, "aria-sort": sorted });
}

/** @param {string[]} column */
function headCell([key, title, kind]) {
    const attributes = { "data-sort": key, title: "Sort", onclick: () => turn(key) };
    return sortHead(title, kind, sort?.key === key ? sort.up : undefined, attributes);
}

function sortedRows(seen, rowOf) {
    const sign = sort.up ? 1 : -1;
    const by = (term) => (sort.key === "net_cp" ? size(term) : term[sort.key]);
    return [...seen].sort((a, b) => sign * (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0)).map(rowOf);
}

function groupedRows(terms, seen, rowOf) {
    const counts = (term) => byId("zero-terms").checked || term.white_cp || term.black_cp;
    return [...Map.groupBy(terms, (term) => term.group)]
        .filter(([, members]) => members.some(counts))
        .map(([group, members]) => [
            groupRow(group, members),
            members.filter((term) => seen.includes(term)).map(rowOf),
        ]);
}

function termTable(report, seen) {
    const scale = Math.max(1, ...report.terms.map(size));
    const total = report.terms.reduce((sum, term) => sum + size(term), 0);
    const rowOf = (term) => row(term, scale, total);
    const heads = [
        COLUMNS.map(headCell),
        columnHead(h("span", "Black | White"), { class: "bar-cell" }),
        columnHead("Share", { class: "share" }),
    ];
    const rows = sort ? sortedRows(seen, rowOf) : groupedRows(report.terms, seen, rowOf);
    return tableBox("Terms", "#term-table.terms", heads, h("tbody", rows), h("tfoot", totals(report)));
}

function draw() {
    const report = shown();
    if (!report) return;
    const place = byId("terms-shown");
    byId("terms-bar").hidden = Boolean(report.without_terms);
    if (report.without_terms) return replace(place, withoutTerms(report));
    const isSeen = (term) => byId("zero-terms").checked || size(term) >= MIN_SHOWN || term.name === state.term;
    const seen = report.terms.filter(isSeen);
    const hidden = report.terms.length - seen.length;
    const counts = "Counts include the multiplier of the group and the share of the phase: ";
    const formula = `weight \u00d7 count = centipawns (cp). Score ${pawns(report.score_cp)} pawns.`;
    byId("zero-label").textContent = `Show terms that make no difference${hidden ? ` (${hidden})` : ""}`;
    byId("by-group").hidden = !sort;
    byId("clear-term").hidden = !state.term;
    replace(place, termTable(report, seen), note(counts, formula));
}

export function makeTerms() {
    byId("zero-terms").onchange = draw;
    byId("by-group").onclick = () => {
        sort = null;
        draw();
    };
    byId("clear-term").onclick = () => {
        state.term = null;
        changed("term");
    };
    listenTo(["report", "preview", "term"], draw);
}
