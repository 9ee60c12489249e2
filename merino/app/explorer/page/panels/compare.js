// Two evaluations side by side: weights, terms, piece values, and the moves whose rank they change.

import { post } from "../base/api.js";
import {
    button,
    h,
    number,
    panelBar,
    pawns,
    percent,
    plainTable,
    plural,
    replace,
    shortName,
    spaced,
    tableRow,
    tellError,
    worded,
} from "../base/dom.js";
import { picture } from "../board/board.js";
import { listenTo, question, state } from "../state/store.js";
import { catalogue, chooser, onCatalogue, openWeights, useWeights } from "./weights.js";

const MIN_SHOWN = 0.05;
/** @type {any} */
let second = null;
/** @type {any} */
let found = null;
let asked = 0;

const name = (id) => catalogue.weights.find((entry) => entry.id === id)?.name ?? id;

function pair(title, a, b, digits) {
    return tableRow(title, [number(a, digits, true), number(b, digits, true), changeCell(b - a, digits)]);
}

function changeCell(change, digits) {
    if (Math.abs(change) < MIN_SHOWN) return h("td", { class: "nothing" }, "\u00b7");
    return h("td", { class: change > 0 ? "gain" : "loss" }, number(change, digits, true));
}

const figure = (value) =>
    Math.abs(value) < MIN_SHOWN ? h("span", { class: "nothing" }, "\u00b7") : number(value, 1, true);

/** The terms of the one evaluation that has them, and why the other has none. */
function oneSided(compared) {
    const [withTerms, without] = compared.first.terms.length
        ? [compared.first, compared.second]
        : [compared.second, compared.first];
    const side = withTerms === compared.first ? "A" : "B";
    const reason = h("p", { class: "note", id: "compare-without" }, `${shortName(without.evaluation)} has no terms.`);
    if (!withTerms.terms.length) return [reason, h("p", { class: "note" }, "The other has none either.")];
    return [
        reason,
        plainTable(
            "compare-terms",
            ["Term", `Weight ${side}`, `Net ${side}`],
            withTerms.terms
                .filter((term) => Math.abs(term.net_cp) >= MIN_SHOWN)
                .sort((x, y) => Math.abs(y.net_cp) - Math.abs(x.net_cp))
                .map((term) => tableRow(spaced(term.name), [number(term.weight, 0), figure(term.net_cp)])),
        ),
    ];
}

function termTable() {
    if (!found.first.terms.length || !found.second.terms.length) return oneSided(found);
    const byName = (side) => new Map(side.terms.map((term) => [term.name, term]));
    const [first, second] = [byName(found.first), byName(found.second)];
    const absent = (name) => ({ name, weight: 0, net_cp: 0 }); // a term that the other set does not have
    const rows = [...new Map([...first, ...second]).keys()]
        .map((name) => [first.get(name) ?? absent(name), second.get(name) ?? absent(name)])
        .map(([a, b]) => ({ a, b, size: Math.abs(b.net_cp - a.net_cp) + Math.abs(b.weight - a.weight) / 1000 }))
        .filter(({ size }) => size >= 0.001)
        .sort((x, y) => y.size - x.size);
    if (!rows.length) return h("p", { class: "empty" }, "In this position both value every term alike.");
    const counts = ({ a, b }) => Math.max(Math.abs(a.net_cp), Math.abs(b.net_cp)) >= MIN_SHOWN;
    const others = rows.filter((each) => !counts(each));
    return [
        bothTable("compare-terms", rows.filter(counts)),
        others.length
            ? h(
                  "details",
                  { id: "compare-others" },
                  h("summary", {}, `${plural(others.length, "weight")} more, without effect here`),
                  bothTable("compare-idle", others),
              )
            : null,
    ];
}

function bothTable(id, rows) {
    return plainTable(
        id,
        ["Term", "Weight A", "Weight B", "Net A", "Net B", "Difference"],
        rows.map(({ a, b }) =>
            tableRow(spaced(a.name), [
                number(a.weight, 0),
                h("td", { class: a.weight === b.weight ? "" : "strong" }, number(b.weight, 0)),
                figure(a.net_cp),
                figure(b.net_cp),
                changeCell(b.net_cp - a.net_cp, 1),
            ]),
        ),
    );
}

function kinds() {
    return plainTable(
        "compare-pieces",
        ["Piece", "On board", "Removal A", "Removal B", "Attributed A", "Attributed B"],
        found.pieces.map((kind) =>
            tableRow(picture(kind.kind, 22), [
                kind.count,
                ...[...(kind.removal_cp ?? [null, null]), ...kind.attributed_cp].map((value) =>
                    value === null ? "\u2013" : pawns(value),
                ),
            ]),
        ),
    );
}

function moves() {
    const moved = found.moves
        .filter((move) => move.ranks[0] !== move.ranks[1])
        .sort((a, b) => Math.min(...a.ranks) - Math.min(...b.ranks));
    if (!moved.length) return h("p", { class: "empty" }, "Both rank all moves the same.");
    return [
        h("p", { class: "note" }, `${moved.length} of ${found.moves.length} moves have another rank.`),
        plainTable(
            "compare-moves",
            ["Move", "Rank A", "Rank B", "Up or down", "A, for the mover", "B"],
            moved.slice(0, 20).map((move) => {
                const step = move.ranks[0] - move.ranks[1];
                return tableRow(move.move, [
                    ...move.ranks,
                    h("td", { class: step > 0 ? "gain" : "loss" }, number(step, 0, true)),
                    ...move.evaluations_cp.map(pawns),
                ]);
            }),
        ),
    ];
}

/** The evaluation that is compared first: any that is not in use already. */
const firstOther = () => {
    const others = catalogue.weights.filter(({ id }) => ![state.weights, "default", "in-use"].includes(id));
    return others[0]?.id ?? state.weights;
};

async function ask(panel) {
    const mine = ++asked;
    second ??= firstOther();
    found = state.report?.fault ? null : found;
    if (state.report?.fault) return draw(panel);
    const { fen, moves: played } = question();
    const first = { weights: state.weights, changes: state.changes };
    try {
        const compared = await post("/api/compare", { fen, moves: played, first, second: { weights: second } });
        if (mine !== asked) return null;
        found = compared;
        return draw(panel);
    } catch (error) {
        return mine === asked ? tellError(error) : null;
    }
}

function bar(panel) {
    const use = (id) => {
        second = id;
        ask(panel);
    };
    const open = () => openWeights().then(use, (error) => tellError(error));
    const isChanged = Object.keys(state.changes).length > 0;
    return panelBar(
        chooser("compare-first", "A", state.weights, useWeights),
        isChanged ? h("span", { class: "note" }, " with your changes") : null,
        chooser("compare-second", "B", second, use),
        button("compare-open", "Open a file as B", open),
    );
}

function scores() {
    const { first, second: other } = found;
    const [a, b] = [first.static.expected_score, other.static.expected_score];
    return plainTable(
        "compare-scores",
        [{ unseen: "Value" }, "A", "B", "Difference"],
        [
            pair("Score, pawns", first.score_cp / 100, other.score_cp / 100, 2),
            tableRow("White expects", [percent(a, 1), percent(b, 1), `${number(100 * (b - a), 1, true)}%`]),
            tableRow("K, centipawns", [number(first.k, 1), number(other.k, 1), ""]),
        ],
    );
}

function results() {
    if (!found) {
        const why = state.report?.fault ? "Only legal positions are compared." : `Comparing with ${name(second)}`;
        return h("p", { class: "empty" }, why);
    }
    return [
        h("p", { class: "summary" }, worded(found.summary.join(" "))),
        scores(),
        h("h3", {}, "Terms and what they add for White"),
        termTable(),
        h("h3", {}, "Pieces, mean pawns for their owner"),
        kinds(),
        h("h3", {}, "Moves"),
        moves(),
    ];
}

const draw = (panel) => replace(panel, bar(panel), results());

export function makeCompare(panel, isShown) {
    onCatalogue(() => {
        if (isShown()) draw(panel);
    });
    listenTo(["report", "tab", "weights"], () => {
        if (isShown()) ask(panel);
    });
}
