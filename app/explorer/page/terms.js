// The table of terms: what each adds for each side, and where it comes from.

import { h, number, pawns, percent, replace, scrolling, shortName, spaced } from "./dom.js";
import { picture } from "./board.js";
import { changed, listen, shown, state } from "./store.js";

const COLUMNS = [
    ["name", "Term"],
    ["white_count", "White", "wide"],
    ["black_count", "Black", "wide"],
    ["white_cp", "White cp"],
    ["black_cp", "Black cp"],
    ["net_cp", "Net"],
];
const MIN_SHOWN = 0.05;
let sort = null; // { key, up }; by group while null
let showsAll = false;
let catalogue = new Map();

/** The sentences of the terms. */
export function learnTerms(terms) {
    catalogue = new Map(terms.map((term) => [term.name, term]));
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
            h("td", { class: "wide" }, figure(term.white_count, 2)),
            h("td", { class: "wide" }, figure(term.black_count, 2)),
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

function detail(term) {
    const entry = catalogue.get(term.name);
    const report = shown();
    const mine = report.pieces
        .filter((piece) => term.name in piece.terms)
        .sort((a, b) => Math.abs(b.terms[term.name]) - Math.abs(a.terms[term.name]));
    const shared = report.shared_terms[term.name];
    const when = { always: "counts always", middlegame: "counts in the middlegame", endgame: "counts in the endgame" }[
        term.phase
    ];
    return h(
        "tr",
        { class: "detail" },
        h(
            "td",
            { colspan: 8 },
            h(
                "p",
                {},
                h("b", {}, entry?.sentence ?? ""),
                ` Weight ${weightOf(term)}${term.multiplier === 1 ? "" : `, times ${term.multiplier} of its group`}; ${when}.`,
            ),
            h(
                "p",
                { class: "sum" },
                `(${number(term.white_count, 2)} \u2212 ${number(term.black_count, 2)}) \u00d7 ${number(term.weight, 1)} = ${number(term.net_cp, 1, true)} centipawns for White`,
            ),
            h(
                "ul",
                { class: "sources" },
                mine.map((piece) =>
                    h(
                        "li",
                        {},
                        picture(piece.piece, 18),
                        `${piece.square} `,
                        h("b", {}, number(piece.terms[term.name], 1, true)),
                    ),
                ),
                shared ? h("li", {}, "shared ", h("b", {}, number(shared, 1, true))) : null,
                mine.length || shared ? null : h("li", {}, "No piece on the board adds to it."),
            ),
        ),
    );
}

function groupRow(group, terms) {
    const sum = (key) => terms.reduce((total, term) => total + term[key], 0);
    return h(
        "tr",
        { class: "group" },
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
    const line = (name, value, digits, id) =>
        h(
            "tr",
            { class: "total" },
            h("th", { scope: "row" }, name),
            h("td", { class: "wide" }),
            h("td", { class: "wide" }),
            h("td"),
            h("td"),
            h("td", { class: "net", id }, number(value, digits, true)),
            h("td"),
            h("td"),
        );
    return [
        line("Sum", sum_cp, 1),
        Math.abs(rule_cp) >= MIN_SHOWN ? line("Draw rule", rule_cp, 1) : null,
        Math.abs(rounding_cp) >= MIN_SHOWN ? line("Rounding", rounding_cp, 1) : null,
        line("Score", score_cp, 0, "term-score"),
    ];
}

/** The account of a score in the terms: what each adds by it, and what it does not tell. */
function accountOf(words) {
    const seen = words.terms.filter(isTold).sort((a, b) => Math.abs(b.cp) - Math.abs(a.cp));
    const scale = Math.max(1, Math.abs(words.rest_cp), ...seen.map((term) => Math.abs(term.cp)));
    const line = (name, value) =>
        h(
            "tr",
            { "data-told": name },
            h("th", { scope: "row" }, name),
            h("td", { class: "net" }, number(value, 1, true)),
            h("td", { class: "bar-cell" }, bar(value, scale)),
        );
    return [
        h("p", {}, `As far as the terms can tell it, which is ${percent(Math.max(0, words.r2))} of what moves change:`),
        h(
            "table",
            { class: "terms", id: "words-table" },
            h(
                "tbody",
                {},
                seen.map((term) => line(spaced(term.name), term.cp)),
                line("What the net sees more", words.rest_cp),
            ),
        ),
    ];
}

const isTold = (term) => Math.abs(term.cp) >= MIN_SHOWN;

/** What is said in the place of the table where an evaluation has no terms. */
function withoutTerms(report) {
    const beside = report.beside;
    return [
        h("p", { class: "empty", id: "without-terms" }, `${report.without_terms}.`),
        report.words ? accountOf(report.words) : null,
        h(
            "p",
            {},
            `Its score is ${pawns(report.score_cp)} pawns`,
            beside ? `; by ${shortName(beside.evaluation)} it is ${pawns(beside.score_cp)}.` : ".",
            " The board and Pieces show its value of each piece; Compare shows it beside the terms.",
        ),
    ];
}

export function makeTerms(panel) {
    function draw() {
        const report = shown();
        if (!report) return;
        if (report.without_terms) {
            replace(panel, withoutTerms(report));
            return;
        }
        const focused = document.activeElement?.closest?.("[data-term], [data-sort]");
        const seen = report.terms.filter((term) => showsAll || isSomething(term) || term.name === state.term);
        const scale = Math.max(1, ...report.terms.map(size)),
            total = report.terms.reduce((sum, term) => sum + size(term), 0);
        const heads = COLUMNS.map(([key, title, kind]) =>
            h(
                "th",
                {
                    scope: "col",
                    class: kind,
                    "aria-sort": sort?.key === key ? (sort.up ? "ascending" : "descending") : undefined,
                },
                h(
                    "button",
                    {
                        type: "button",
                        class: "plain",
                        "data-sort": key,
                        title: "Sort",
                        onclick: () => {
                            turn(key);
                            draw();
                        },
                    },
                    title,
                ),
            ),
        );
        let rows;
        if (sort) {
            const sign = sort.up ? 1 : -1;
            const by = (term) =>
                sort.key === "name" ? term.name : sort.key === "net_cp" ? size(term) : term[sort.key];
            rows = [...seen]
                .sort((a, b) => sign * (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0))
                .map((term) => row(term, scale, total));
        } else {
            const counts = (term) => showsAll || term.white_cp || term.black_cp;
            const groups = [...new Set(report.terms.map((term) => term.group))].filter((group) =>
                report.terms.some((term) => term.group === group && counts(term)),
            );
            rows = groups.map((group) => [
                groupRow(
                    group,
                    report.terms.filter((term) => term.group === group),
                ),
                seen.filter((term) => term.group === group).map((term) => row(term, scale, total)),
            ]);
        }
        const hidden = report.terms.length - seen.length;
        replace(
            panel,
            h(
                "div",
                { class: "panel-bar" },
                h(
                    "label",
                    {},
                    h("input", {
                        type: "checkbox",
                        id: "zero-terms",
                        checked: showsAll,
                        onchange: (event) => {
                            showsAll = event.target.checked;
                            draw();
                        },
                    }),
                    `Show terms that make no difference${hidden ? ` (${hidden})` : ""}`,
                ),
                sort
                    ? h(
                          "button",
                          {
                              type: "button",
                              class: "quiet",
                              onclick: () => {
                                  sort = null;
                                  draw();
                              },
                          },
                          "By group",
                      )
                    : null,
                state.term
                    ? h(
                          "button",
                          {
                              type: "button",
                              class: "quiet",
                              onclick: () => {
                                  state.term = null;
                                  changed("term");
                              },
                          },
                          "Clear highlighted squares",
                      )
                    : null,
            ),
            h(
                "div",
                scrolling("Terms"),
                h(
                    "table",
                    { class: "terms", id: "term-table" },
                    h(
                        "thead",
                        {},
                        h(
                            "tr",
                            {},
                            heads,
                            h("th", { scope: "col", class: "bar-cell" }, h("span", {}, "Black | White")),
                            h("th", { scope: "col", class: "share" }, "Share"),
                        ),
                    ),
                    h("tbody", {}, rows),
                    h("tfoot", {}, totals(report)),
                ),
            ),
            h(
                "p",
                { class: "note" },
                `Counts include the multiplier of the group and the share of the phase: weight \u00d7 count = centipawns (cp). Score ${pawns(report.score_cp)} pawns.`,
            ),
        );
        if (focused?.dataset.term) panel.querySelector(`[data-term="${focused.dataset.term}"] button`)?.focus();
        else if (focused?.dataset.sort) panel.querySelector(`[data-sort="${focused.dataset.sort}"]`)?.focus();
    }
    function turn(key) {
        if (sort?.key !== key) sort = { key, up: key === "name" };
        else if (sort.up === (key === "name")) sort.up = !sort.up;
        else sort = null;
    }
    listen((topics) => {
        if (topics.has("report") || topics.has("preview") || topics.has("term")) draw();
    });
}
