// Every legal move: what it changes, as a heat map of moves by terms; searched scores beside; two moves compared.

import { channel, post } from "./api.js";
import { framed, h, number, pawns, percent, replace, showError, spaced, worded } from "./dom.js";
import { pointAt } from "./board.js";
import { listen, play, question, state } from "./store.js";

const MIN_SHOWN = 0.05;
let sort = { key: "rank", up: true };
let picked = []; // SAN of moves to compare
let compared = null;
let found = new Map(); // by move: the line of the search
let progress = null; // the last line of the search
let searching = false;
let link;

const tint = (value, scale) => {
    const share = Math.min(1, Math.sqrt(Math.abs(value) / scale));
    return share < 0.03
        ? ""
        : `color-mix(in oklab, var(--${value > 0 ? "blue" : "orange"}) ${Math.round(85 * share)}%, transparent)`;
};

function cell(value, scale) {
    return h(
        "td",
        { class: "heat", style: { background: tint(value, scale) } },
        Math.abs(value) < MIN_SHOWN ? "" : number(value, 0, true),
    );
}

function search() {
    if (searching) {
        link.stop();
        return;
    }
    found = new Map();
    progress = null;
    searching = true;
    link ??= channel("/ws/search", hear);
    link.send({ ...question(), all_moves: true });
    draw();
}

function hear(message) {
    if (message.type === "line") {
        if (!searching) return;
        found.set(message.moves[0], message);
        progress = message;
        if (found.size > 1) {
            showFound();
            return;
        }
    } else {
        searching = false;
        if (message.type === "error") showError(message.error);
    }
    draw();
}

const NODES = 50000; // of each of two moves that are compared
let draw = () => {};

/** Write what the search has found into the table that is there: rows that stay can be clicked. */
const showFound = framed(() => {
    for (const cell of document.querySelectorAll("#move-table [data-searched]")) {
        const line = found.get(cell.dataset.searched);
        cell.textContent = line ? line.score.text : "";
        cell.title = line?.text ?? "";
    }
    const place = document.getElementById("search-state");
    if (place && progress) place.textContent = stateOfSearch();
});

const stateOfSearch = () =>
    `depth ${progress.depth}, ${Math.round(progress.nodes / 1000).toLocaleString("en")} thousand positions`;

async function compare() {
    const [first, second] = picked;
    try {
        compared = await post("/api/compare", {
            ...question(),
            first_move: first,
            second_move: second,
            nodes: NODES,
        });
    } catch (error) {
        showError(error.message);
    }
    draw();
}

function pick(san, isPicked) {
    picked = isPicked ? [...picked, san].slice(-2) : picked.filter((each) => each !== san);
    compared = null;
    draw();
    if (picked.length === 2) compare();
}

function comparison() {
    if (!compared) return null;
    const [a, b] = compared.moves;
    const names = [...new Set([...Object.keys(a.at_once.terms_cp), ...Object.keys(b.at_once.terms_cp)])]
        .map((name) => [name, a.at_once.terms_cp[name] ?? 0, b.at_once.terms_cp[name] ?? 0])
        .filter(([, x, y]) => Math.abs(x) >= MIN_SHOWN || Math.abs(y) >= MIN_SHOWN)
        .sort((x, y) => Math.abs(y[2] - y[1]) - Math.abs(x[2] - x[1]));
    return h(
        "section",
        { class: "card", id: "comparison" },
        h("h3", {}, `${b.move} instead of ${a.move}`),
        h("p", { id: "why" }, compared.why.join(" ")),
        h("p", { class: "note" }, worded(`At once: ${compared.summary.join(" ")}`)),
        h(
            "div",
            { class: "scroll" },
            h(
                "table",
                { class: "plain-table" },
                h(
                    "thead",
                    {},
                    h("tr", {}, h("th", {}, "Term"), h("th", {}, a.move), h("th", {}, b.move), h("th", {}, "Difference")),
                ),
                h(
                    "tbody",
                    {},
                    names.map(([name, x, y]) =>
                        h(
                            "tr",
                            {},
                            h("th", { scope: "row" }, spaced(name)),
                            h("td", {}, number(x, 1, true)),
                            h("td", {}, number(y, 1, true)),
                            h("td", { style: { background: tint(y - x, 60) } }, number(y - x, 1, true)),
                        ),
                    ),
                ),
                h(
                    "tfoot",
                    {},
                    h(
                        "tr",
                        {},
                        h("th", { scope: "row" }, "Change of the score"),
                        h("td", {}, number(a.at_once.change_cp, 0, true)),
                        h("td", {}, number(b.at_once.change_cp, 0, true)),
                        h("td", {}, number(compared.change.change_cp, 0, true)),
                    ),
                ),
            ),
        ),
    );
}

export function makeMoves(panel, isShown) {
    draw = () => {
        const { report } = state;
        if (!report || !isShown()) return;
        if (!report.moves.length) {
            replace(
                panel,
                h(
                    "p",
                    { class: "empty" },
                    report.fault ? `There are no moves: ${report.fault}.` : `There are no moves: ${report.ending}.`,
                ),
            );
            return;
        }
        const totals = new Map();
        for (const move of report.moves)
            for (const term of move.change.terms)
                totals.set(term.name, (totals.get(term.name) ?? 0) + Math.abs(term.change_cp));
        const columns = report.terms.map((term) => term.name).filter((name) => (totals.get(name) ?? 0) >= MIN_SHOWN);
        const largest = Math.max(
            1,
            ...report.moves.flatMap((move) =>
                (report.without_terms ? [move.change] : move.change.terms).map((each) => Math.abs(each.change_cp)),
            ),
        );
        const scale = Math.min(largest, 120);
        const value = (move) => {
            const line = found.get(move.uci);
            if (sort.key === "rank") return move.rank;
            if (sort.key === "san") return move.san;
            if (sort.key === "search") return line ? -line.number : -1000;
            if (sort.key === "change") return move.change.change_cp;
            if (sort.key === "expected") return move.expected_score;
            return move.change.terms.find((term) => term.name === sort.key)?.change_cp ?? 0;
        };
        const ordered = [...report.moves].sort((a, b) => {
            const x = value(a),
                y = value(b);
            return (sort.up ? 1 : -1) * (x < y ? -1 : x > y ? 1 : 0);
        });
        const head = (key, title, kind) =>
            h(
                "th",
                {
                    scope: "col",
                    class: kind,
                    "aria-sort": sort.key === key ? (sort.up ? "ascending" : "descending") : undefined,
                },
                h(
                    "button",
                    {
                        type: "button",
                        class: "plain",
                        onclick: () => {
                            sort = { key, up: sort.key === key ? !sort.up : key === "rank" || key === "san" };
                            draw();
                        },
                    },
                    h("span", {}, title),
                ),
            );
        const scrolled = panel.querySelector(".scroll");
        const [left, top] = [scrolled?.scrollLeft ?? 0, scrolled?.scrollTop ?? 0];
        const focused = document.activeElement?.closest?.("tr[data-move]")?.dataset.move;
        replace(
            panel,
            h(
                "div",
                { class: "panel-bar" },
                h(
                    "button",
                    { type: "button", id: "search-moves", class: searching ? "on" : "", onclick: search },
                    searching ? "Stop the search" : "Search all moves",
                ),
                h(
                    "span",
                    { class: "note", id: "search-state" },
                    progress
                        ? stateOfSearch()
                        : "Each score is the static one after the move. Tick two moves to compare them.",
                ),
            ),
            comparison(),
            h(
                "div",
                { class: "scroll tall" },
                h(
                    "table",
                    { class: "heat-map", id: "move-table" },
                    h(
                        "thead",
                        {},
                        h(
                            "tr",
                            {},
                            h("th", { class: "tick" }),
                            head("san", "Move", "move"),
                            head("rank", "Score"),
                            head("change", "Change"),
                            head("expected", "White"),
                            found.size ? head("search", "Search") : null,
                            columns.map((name) => head(name, spaced(name), "turned")),
                        ),
                    ),
                    h(
                        "tbody",
                        {},
                        ordered.map((move) => {
                            const nets = new Map(move.change.terms.map((term) => [term.name, term.change_cp]));
                            const line = found.get(move.uci);
                            return h(
                                "tr",
                                {
                                    "data-move": move.uci,
                                    onpointerenter: () => pointAt(move.uci),
                                    onpointerleave: () => pointAt(null),
                                },
                                h(
                                    "td",
                                    { class: "tick" },
                                    h("input", {
                                        type: "checkbox",
                                        "aria-label": `Compare ${move.san}`,
                                        checked: picked.includes(move.san),
                                        onchange: (event) => pick(move.san, event.target.checked),
                                    }),
                                ),
                                h(
                                    "th",
                                    { scope: "row", class: "move" },
                                    h(
                                        "button",
                                        {
                                            type: "button",
                                            class: "plain",
                                            title: "Play it",
                                            onfocus: () => pointAt(move.uci),
                                            onblur: () => pointAt(null),
                                            onclick: () => {
                                                pointAt(null);
                                                play(move.uci);
                                            },
                                        },
                                        move.san,
                                    ),
                                ),
                                h("td", {}, pawns(move.change.after_cp)),
                                h(
                                    "td",
                                    { style: { background: tint(move.change.change_cp, scale) } },
                                    number(move.change.change_cp, 0, true),
                                ),
                                h("td", {}, percent(move.expected_score)),
                                found.size
                                    ? h(
                                          "td",
                                          { "data-searched": move.uci, title: line?.text },
                                          line ? line.score.text : "",
                                      )
                                    : null,
                                columns.map((name) => cell(nets.get(name) ?? 0, scale)),
                            );
                        }),
                    ),
                ),
            ),
            h("p", { class: "note" }, "Changes in centipawns for White: blue is good for White, orange for Black."),
        );
        const now = panel.querySelector(".scroll.tall");
        now.scrollLeft = left;
        now.scrollTop = top;
        if (focused) panel.querySelector(`tr[data-move="${focused}"] button`)?.focus();
    };
    listen((topics) => {
        if (topics.has("report")) {
            picked = [];
            compared = null;
            found = new Map();
            progress = null;
            if (searching) {
                searching = false;
                link.stop();
            }
            sort = { key: "rank", up: true };
        }
        if (topics.has("report") || topics.has("tab")) draw();
    });
}
