// The table of terms: what each adds for each side, and where it comes from.

import {
    checkField,
    columnHead,
    h,
    number,
    panelBar,
    pawns,
    percent,
    replace,
    shortName,
    spaced,
    tableBox,
    tableRow,
} from "../base/dom.js";
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
const MIN_SHOWN = 0.05;
const MIN_REST = 1; // centipawns of a piece in what a net sees more
/** @type {any} */
let sort = null; // { key, up }; by group while null
let showsAll = false;
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
    named.sort((a, b) => Math.abs(cp.get(b.name)) - Math.abs(cp.get(a.name)));
    return named[0]?.name ?? null;
}

const size = (term) => Math.abs(term.net_cp);
const isSomething = (term) => size(term) >= MIN_SHOWN;

function bar(value, scale) {
    const width = `${(50 * Math.abs(value)) / scale}%`;
    return h(
        "span",
        { class: "bar" },
        h("i", {
            class: value < 0 ? "orange" : "blue",
            style: value < 0 ? { right: "50%", width } : { left: "50%", width },
        }),
    );
}

function row(term, scale, total) {
    const isOpen = state.term === term.name;
    const toggle = () => {
        state.term = isOpen ? null : term.name;
        changed("term");
    };
    return [
        h(
            "tr",
            { class: isOpen ? "open" : "", "data-term": term.name, onclick: toggle },
            h(
                "th",
                { scope: "row" },
                h("button", { type: "button", class: "plain", "aria-expanded": String(isOpen) }, spaced(term.name)),
            ),
            h("td", { class: "wide" }, term.cells ? "" : figure(term.white_count, 2)),
            h("td", { class: "wide" }, term.cells ? "" : figure(term.black_count, 2)),
            h("td", {}, figure(term.white_cp, 1)),
            h("td", {}, figure(term.black_cp, 1)),
            h("td", { class: "net" }, figure(term.net_cp, 1, true)),
            h("td", { class: "bar-cell" }, bar(term.net_cp, scale)),
            h("td", { class: "share" }, total ? percent(size(term) / total) : ""),
        ),
        isOpen ? detail(term) : null,
    ];
}

const figure = (value, digits, sign) =>
    Math.abs(value) < 0.5 * 10 ** -digits ? h("span", { class: "nothing" }, "\u00b7") : number(value, digits, sign);

function weightOf(term) {
    const whole = `${number(term.weight, 1)} centipawns`;
    return term.weight_mg === term.weight_eg
        ? whole
        : `${whole} here, ${number(term.weight_mg, 1)} in the middlegame, ${number(term.weight_eg, 1)} in the endgame`;
}

const WHEN = {
    always: "counts always",
    middlegame: "counts in the middlegame",
    endgame: "counts in the endgame",
};

/** The pieces that a term counts, and what each adds. */
function sources(term) {
    const report = shown();
    const mine = report.pieces
        .filter((piece) => term.name in piece.terms)
        .sort((a, b) => Math.abs(b.terms[term.name]) - Math.abs(a.terms[term.name]));
    const shared = report.shared_terms[term.name];
    const added = (value) => h("b", {}, number(value, 1, true));
    return h(
        "ul",
        { class: "sources" },
        mine.map((piece) => h("li", {}, picture(piece.piece, 18), `${piece.square} `, added(piece.terms[term.name]))),
        shared ? h("li", {}, "shared ", added(shared)) : null,
        mine.length || shared ? null : h("li", {}, "No piece on the board adds to it."),
    );
}

function detail(term) {
    const times = term.multiplier === 1 ? "" : `, times ${term.multiplier} of its group`;
    const counts = `(${number(term.white_count, 2)} \u2212 ${number(term.black_count, 2)})`;
    const sum = `${counts} \u00d7 ${number(term.weight, 1)} = ${number(term.net_cp, 1, true)} centipawns for White`;
    const sentence = h("b", {}, catalogue.get(term.name)?.sentence ?? "");
    const { cells } = term; // of a table, in which nothing is counted once for all
    const weight = cells ? ` A table of ${cells} weights${times}` : ` Weight ${weightOf(term)}${times}`;
    return h(
        "tr",
        { class: "detail" },
        h(
            "td",
            { colspan: 8 },
            h("p", {}, sentence, `${weight}; ${WHEN[term.phase]}.`),
            cells ? null : h("p", { class: "sum" }, sum),
            sources(term),
        ),
    );
}

function groupRow(group, terms) {
    const sum = (key) => terms.reduce((total, term) => total + term[key], 0);
    return h(
        "tr",
        { class: "group", "data-group": group },
        h("th", { scope: "rowgroup" }, group),
        h("td", { class: "wide" }),
        h("td", { class: "wide" }),
        h("td", {}, figure(sum("white_cp"), 1)),
        h("td", {}, figure(sum("black_cp"), 1)),
        h("td", { class: "net" }, figure(sum("net_cp"), 1, true)),
        h("td"),
        h("td"),
    );
}

function totals(report) {
    const { sum_cp, rule_cp, rounding_cp, score_cp } = report.static;
    const line = (name, value, digits, id) => {
        const wide = [h("td", { class: "wide" }), h("td", { class: "wide" })];
        const net = h("td", { class: "net", id }, number(value, digits, true));
        return tableRow(name, [...wide, "", "", net, "", ""], { class: "total" });
    };
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
    const row = ([head, value, more]) => {
        const net = h("td", { class: "net" }, number(value, 1, true));
        return tableRow(head, [net, h("td", { class: "bar-cell" }, bar(value, scale))], more);
    };
    return h("table", { class: "terms", id }, h("tbody", {}, rows.map(row)));
}

/** The account of a score in the terms: what each adds by it, and what it does not explain. */
function accountOf(words) {
    const seen = words.terms.filter(isTold).sort((a, b) => Math.abs(b.cp) - Math.abs(a.cp));
    const line = (name, value, term) => [name, value, { "data-told": name, "data-told-term": term }];
    return [
        h(
            "p",
            { id: "words-share" },
            `As far as the terms explain it, which is ${percent(Math.max(0, words.r2))} of how moves change it:`,
        ),
        barTable("words-table", [
            ...seen.map((term) => line(spaced(term.name), term.cp, term.name)),
            line("What the terms do not explain", words.rest),
        ]),
    ];
}

/** What of the rest goes with each piece, when it is taken off the board. */
function restOf(pieces, rests) {
    const size = (piece) => Math.abs(rests[piece.square]);
    const parts = pieces.filter((piece) => size(piece) >= MIN_REST).sort((a, b) => size(b) - size(a));
    const line = (piece) => [[picture(piece.piece, 18), ` ${piece.square}`], rests[piece.square]];
    return [
        h("p", {}, "Of what they do not explain, this goes with a piece that is taken off (a king that stands at home):"),
        barTable("rest-table", parts.map(line)),
    ];
}

const isTold = (term) => Math.abs(term.cp) >= MIN_SHOWN;

/** What is said in the place of the table where an evaluation has no terms. */
function withoutTerms(report) {
    const beside = report.beside;
    return [
        h("p", { class: "empty", id: "without-terms" }, `${report.without_terms}.`),
        report.words ? [accountOf(report.words), restOf(report.pieces, report.words.rest_by_piece)] : null,
        h(
            "p",
            {},
            `Its score is ${pawns(report.score_cp)} pawns`,
            beside ? `; by ${shortName(beside.evaluation)} it is ${pawns(beside.score_cp)}.` : ".",
            " The board and Pieces show its value of each piece; Compare shows it beside the terms.",
        ),
    ];
}

/** Sort by a column; again, the other way; a third time, by group as at first. */
function turn(key) {
    if (sort?.key !== key) sort = { key, up: key === "name" };
    else if (sort.up === (key === "name")) sort.up = !sort.up;
    else sort = null;
    draw();
}

/** @param {string[]} column */
function headCell([key, title, kind]) {
    const direction = sort?.key === key ? (sort.up ? "ascending" : "descending") : undefined;
    const own = { type: "button", class: "plain", "data-sort": key, title: "Sort", onclick: () => turn(key) };
    return columnHead(h("button", own, title), { class: kind, "aria-sort": direction });
}

function sortedRows(seen, rowOf) {
    const sign = sort.up ? 1 : -1;
    const by = (term) => (sort.key === "name" ? term.name : sort.key === "net_cp" ? size(term) : term[sort.key]);
    return [...seen].sort((a, b) => sign * (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0)).map(rowOf);
}

function groupedRows(terms, seen, rowOf) {
    const counts = (term) => showsAll || term.white_cp || term.black_cp;
    return [...Map.groupBy(terms, (term) => term.group)]
        .filter(([, members]) => members.some(counts))
        .map(([group, members]) => [
            groupRow(group, members),
            members.filter((term) => seen.includes(term)).map(rowOf),
        ]);
}

const quietButton = (label, onclick) => h("button", { type: "button", class: "quiet", onclick }, label);

function showAll(isOn) {
    showsAll = isOn;
    draw();
}

function byGroup() {
    sort = null;
    draw();
}

function clearTerm() {
    state.term = null;
    changed("term");
}

const settingsBar = (hidden) =>
    panelBar(
        checkField(
            { id: "zero-terms" },
            `Show terms that make no difference${hidden ? ` (${hidden})` : ""}`,
            showsAll,
            showAll,
        ),
        sort ? quietButton("By group", byGroup) : null,
        state.term ? quietButton("Clear highlighted squares", clearTerm) : null,
    );

function termTable(report, seen) {
    const scale = Math.max(1, ...report.terms.map(size));
    const total = report.terms.reduce((sum, term) => sum + size(term), 0);
    const rowOf = (term) => row(term, scale, total);
    const heads = [
        COLUMNS.map(headCell),
        columnHead(h("span", {}, "Black | White"), { class: "bar-cell" }),
        columnHead("Share", { class: "share" }),
    ];
    return tableBox(
        "Terms",
        { class: "terms", id: "term-table" },
        heads,
        h("tbody", {}, sort ? sortedRows(seen, rowOf) : groupedRows(report.terms, seen, rowOf)),
        h("tfoot", {}, totals(report)),
    );
}

let draw = () => {};

function drawPanel(panel) {
    const report = shown();
    if (!report) return;
    if (report.without_terms) {
        replace(panel, withoutTerms(report));
        return;
    }
    const seen = report.terms.filter((term) => showsAll || isSomething(term) || term.name === state.term);
    const note = "Counts include the multiplier of the group and the share of the phase: ";
    const formula = `weight \u00d7 count = centipawns (cp). Score ${pawns(report.score_cp)} pawns.`;
    replace(
        panel,
        settingsBar(report.terms.length - seen.length),
        termTable(report, seen),
        h("p", { class: "note" }, note + formula),
    );
}

export function makeTerms(panel) {
    draw = () => drawPanel(panel);
    listenTo(["report", "preview", "term"], draw);
}
