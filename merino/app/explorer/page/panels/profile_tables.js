// The tables of a profile: rows that say something, with intervals.

import { h, number, percent, plainTable, plural, tableRow, tellError } from "../base/dom.js";
import { setGame } from "../state/store.js";

const cells = (first, ...others) => tableRow(first, others);

function exampleButton(example) {
    const show = () => setGame({ fen: example.fen, label: example.title }).catch(tellError);
    const title = `Game ${example.game}, ${example.title}: show the position before it`;
    return h("button", { type: "button", class: "plain example-move", title, onclick: show }, example.move);
}

const examplesCell = (examples) => h("td", { class: "examples-cell" }, examples.map(exampleButton));

/** A share with its interval, by the name of its field: "3.0% (2.1 to 4.0)". */
const share = (row, name) =>
    `${percent(row[name], 1)} (${number(100 * row[`${name}_low`], 1)} to ${number(100 * row[`${name}_high`], 1)})`;

const groupRow = (group) =>
    cells(group.name, group.moves.toLocaleString("en"), share(group, "loss"), share(group, "mistakes"));

/** What groups of moves lose, of those with enough games. */
export function groupTable(id, head, groups) {
    const enough = groups.filter((group) => group.is_enough);
    if (!enough.length) return h("p", { class: "note" }, "Not enough games.");
    return plainTable(id, [head, "Number", "Lost a move", "Mistakes"], enough.map(groupRow));
}

function openingRow(opening) {
    const { eco, moves, kinds } = opening;
    const codes = eco.length > 1 ? ` (${eco[0]}\u2013${eco[eco.length - 1]})` : eco.length ? ` (${eco[0]})` : "";
    const often = kinds.length && kinds[0].count > 1 ? kinds[0] : null;
    const row = cells(
        `${opening.name}${codes}`,
        opening.games.toLocaleString("en"),
        `+${opening.won} =${opening.drawn} \u2212${opening.lost}`,
        opening.is_enough ? share(opening, "score") : "\u2013",
        moves?.is_enough ? share(moves, "loss") : "\u2013",
    );
    if (!often) return [row];
    const told = [`Most often: ${often.kind}, ${often.count}`, often.examples.map(exampleButton)];
    return [row, h("tr", {}, h("td", { class: "examples-cell", colspan: 5 }, told))];
}

/** Results, losses and the most frequent mistake of openings. */
export const openingTable = (id, openings) =>
    plainTable(id, ["Opening", "Games", "Results", "Points", "Lost a move"], openings.flatMap(openingRow));

function kindRow(kind) {
    const seen = kind.plies === null ? "farther" : plural(kind.plies, "ply", "plies");
    const row = cells(kind.kind, kind.count.toLocaleString("en"), share(kind, "share"), seen);
    row.append(examplesCell(kind.examples));
    return row;
}

/** The kinds of mistakes, and how far one must look to see half of them. */
export const kindTable = (id, kinds) =>
    plainTable(id, ["Mistake", "Number", "Of all", "Seen within", "Such as"], kinds.map(kindRow));
