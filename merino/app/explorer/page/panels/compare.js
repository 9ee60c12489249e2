// Two evaluations side by side: weights, terms, piece values, and the moves whose rank they change.

import { byId, details, h, note, nothing, options, plainTable, replace, tableRow } from "../base/dom.js";
import { guarded, reportError, turns } from "../base/flow.js";
import { bySize, number, pawns, percent, plural, shortName, spaced, worded } from "../base/words.js";
import { post } from "../base/server.js";
import { picture } from "../board/board.js";
import { listenTo, question, state } from "../state/store.js";
import { catalogue, evaluations, onCatalogue, openWeights, useWeights } from "./weights.js";

const MIN_SHOWN = 0.05;
const MAX_MOVES = 20;
/** @type {any} */
let second = null;
/** @type {any} */
let found = null;
const beginComparison = turns();

const empty = (text) => h("p.empty", text);
const figure = (value) => (Math.abs(value) < MIN_SHOWN ? nothing() : number(value, 1, true));
const changeCell = (change, digits) =>
    Math.abs(change) < MIN_SHOWN
        ? h("td", nothing())
        : h(change > 0 ? "td.gain" : "td.loss", number(change, digits, true));

/** The terms of the one evaluation that has them, and why the other has none. */
function oneSided() {
    const isFirst = found.first.terms.length > 0;
    const [own, other] = isFirst ? [found.first, found.second] : [found.second, found.first];
    const side = isFirst ? "A" : "B";
    const reason = h("p#compare-without.note", `${shortName(other.evaluation)} has no terms.`);
    if (!own.terms.length) return [reason, note("The other has none either.")];
    const terms = own.terms.filter((term) => Math.abs(term.net_cp) >= MIN_SHOWN).sort(bySize((term) => term.net_cp));
    const row = (term) => tableRow(spaced(term.name), [number(term.weight), figure(term.net_cp)]);
    return [reason, plainTable("compare-terms", ["Term", `Weight ${side}`, `Net ${side}`], terms.map(row))];
}

function termTables() {
    if (!found.first.terms.length || !found.second.terms.length) return oneSided();
    const [first, other] = [found.first, found.second].map(
        ({ terms }) => new Map(terms.map((each) => [each.name, each])),
    );
    const absent = (name) => ({ name, weight: 0, net_cp: 0 }); // a term that the other set does not have
    const size = ({ a, b }) => Math.abs(b.net_cp - a.net_cp) + Math.abs(b.weight - a.weight) / 1000;
    const rows = [...new Map([...first, ...other]).keys()]
        .map((name) => ({ a: first.get(name) ?? absent(name), b: other.get(name) ?? absent(name) }))
        .filter((pair) => size(pair) >= 0.001)
        .sort(bySize(size));
    if (!rows.length) return empty("In this position both value every term alike.");
    const counts = ({ a, b }) => Math.max(Math.abs(a.net_cp), Math.abs(b.net_cp)) >= MIN_SHOWN;
    const others = rows.filter((pair) => !counts(pair));
    const title = `${plural(others.length, "weight")} more, without effect here`;
    return [
        pairTable("compare-terms", rows.filter(counts)),
        others.length ? details("#compare-others", {}, title, pairTable("compare-idle", others)) : null,
    ];
}

function pairTable(id, rows) {
    const heads = ["Term", "Weight A", "Weight B", "Net A", "Net B", "Difference"];
    const row = ({ a, b }) =>
        tableRow(spaced(a.name), [
            number(a.weight),
            h(a.weight === b.weight ? "td" : "td.strong", number(b.weight)),
            figure(a.net_cp),
            figure(b.net_cp),
            changeCell(b.net_cp - a.net_cp, 1),
        ]);
    return plainTable(id, heads, rows.map(row));
}

function pieceTable() {
    const heads = ["Piece", "On board", "Removal A", "Removal B", "Attributed A", "Attributed B"];
    const worth = (value) => (value === null ? "\u2013" : pawns(value));
    const row = ({ kind, count, removal_cp: removal, attributed_cp: attributed }) =>
        tableRow(picture(kind, 22), [count, ...[...(removal ?? [null, null]), ...attributed].map(worth)]);
    return plainTable("compare-pieces", heads, found.pieces.map(row));
}

function moveTable() {
    const moved = found.moves
        .filter(({ ranks }) => ranks[0] !== ranks[1])
        .sort((a, b) => Math.min(...a.ranks) - Math.min(...b.ranks));
    if (!moved.length) return empty("Both rank all moves the same.");
    const heads = ["Move", "Rank A", "Rank B", "Up or down", "A, for the mover", "B"];
    const row = ({ move, ranks, evaluations_cp: evaluations }) =>
        tableRow(move, [...ranks, changeCell(ranks[0] - ranks[1], 0), ...evaluations.map(pawns)]);
    return [
        note(`${moved.length} of ${found.moves.length} moves have another rank.`),
        plainTable("compare-moves", heads, moved.slice(0, MAX_MOVES).map(row)),
    ];
}

/** The evaluation that is compared first: any that is not in use already. */
function firstOther() {
    const others = catalogue.weights.filter(({ id }) => ![state.weights, "default", "in-use"].includes(id));
    return others[0]?.id ?? state.weights;
}

async function ask() {
    const isLast = beginComparison();
    second ??= firstOther();
    const isIllegal = Boolean(state.report?.fault);
    if (isIllegal) found = null;
    if (!found) draw(); // what is to be compared
    if (isIllegal) return;
    const { fen, moves } = question();
    const first = { weights: state.weights, changes: state.changes };
    try {
        const compared = await post("/api/compare", { fen, moves, first, second: { weights: second } });
        if (!isLast()) return;
        found = compared;
        draw();
    } catch (error) {
        if (isLast()) reportError(error);
    }
}

function scoreTable() {
    const { first, second: other } = found;
    const [a, b] = [first.static.expected_score, other.static.expected_score];
    const [x, y] = [first.score_cp, other.score_cp];
    return plainTable(
        "compare-scores",
        [{ unseen: "Value" }, "A", "B", "Difference"],
        [
            tableRow("Score, pawns", [pawns(x), pawns(y), changeCell((y - x) / 100, 2)]),
            tableRow("White expects", [percent(a, 1), percent(b, 1), `${number(100 * (b - a), 1, true)}%`]),
            tableRow("K, centipawns", [number(first.k, 1), number(other.k, 1), ""]),
        ],
    );
}

function results() {
    if (!found) return state.report?.fault ? empty("Only legal positions are compared.") : null;
    return [
        h("p.summary", worded(found.summary.join(" "))),
        scoreTable(),
        h("h3", "Terms and what they add for White"),
        termTables(),
        h("h3", "Pieces, mean pawns for their owner"),
        pieceTable(),
        h("h3", "Moves"),
        moveTable(),
    ];
}

function draw() {
    byId("compare-first").replaceChildren(...options(evaluations(), state.weights));
    byId("compare-second").replaceChildren(...options(evaluations(), second));
    byId("compare-changes").hidden = !Object.keys(state.changes).length;
    replace(byId("compare-found"), results());
}

export function makeCompare(_, isShown) {
    const use = (id) => {
        second = id;
        ask();
    };
    byId("compare-first").onchange = (event) => useWeights(event.target.value);
    byId("compare-second").onchange = (event) => use(event.target.value);
    byId("compare-open").onclick = guarded(async () => use(await openWeights()));
    onCatalogue(() => isShown() && draw());
    listenTo(["report", "tab", "weights"], () => isShown() && ask());
}
