// The tables of a profile: a row says what is known with its interval, or that the games are not enough.

import { h, number, percent, plainTable, plural, tableRow, tellError } from "../base/dom.js";
import { setGame } from "../state/store.js";

export const NOT_ENOUGH = "not enough games";

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

function groupRow(group) {
    const told = group.is_enough ? [share(group, "loss"), share(group, "mistakes")] : [NOT_ENOUGH, ""];
    return cells(group.name, group.moves.toLocaleString("en"), ...told);
}

/** What groups of moves lose. */
export const groupTable = (id, head, groups) =>
    plainTable(id, [head, "Number", "Lost a move", "Mistakes"], groups.map(groupRow));

function openingRow(opening) {
    const { eco, moves, kinds } = opening;
    const codes = eco.length > 1 ? ` (${eco[0]}\u2013${eco[eco.length - 1]})` : eco.length ? ` (${eco[0]})` : "";
    const often = kinds.length && kinds[0].count > 1 ? kinds[0] : null;
    const row = cells(
        `${opening.name}${codes}`,
        opening.games.toLocaleString("en"),
        `+${opening.won} =${opening.drawn} \u2212${opening.lost}`,
        opening.is_enough ? share(opening, "score") : NOT_ENOUGH,
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

const pawns = (centipawns) => number(centipawns / 100, 2);

function tasteRow({ words, worth, is_special, examples }) {
    const row = cells(
        words,
        `${pawns(worth.player)} (${pawns(worth.low)} to ${pawns(worth.high)})`,
        pawns(worth.merino),
        `${pawns(worth.others)}${is_special ? "" : ", alike"}`,
    );
    row.append(examplesCell(examples));
    return row;
}

/** What one of each is worth to the player, or costs, in pawns. */
export function tasteTable(id, tastes, isFault) {
    const heads = [isFault ? "One costs" : "One is worth", "In pawns", "To Merino", "To others", "Such as"];
    return plainTable(id, heads, tastes.map(tasteRow));
}

export function habitRow(habit) {
    const sure = habit.low > 1 || habit.high < 1 ? "" : ", not sure";
    const range = `${number(habit.low, 2)} to ${number(habit.high, 2)}`;
    return cells(habit.words, `${number(habit.factor, 2)} times (${range})${sure}`, number(habit.others, 2));
}

export const foretoldRow = (name, told) =>
    cells(name, percent(told.top1, 1), percent(told.top3, 1), number(told.log_loss, 3));
