// The numbers behind sentences on pieces that stand better or worse: each piece with its terms, as a table.

import { columnHead, h, number, spaced, tableBox, tableRow } from "../base/dom.js";

const byTerms = (terms) =>
    Object.entries(terms)
        .sort(([, a], [, b]) => Math.abs(b) - Math.abs(a))
        .map(([name, cp]) => `${spaced(name)} ${number(cp, 1, true)}`)
        .join(", ");

const row = ({ name, here, there, total_cp: total, terms_cp: terms }) =>
    tableRow(here === there ? name : `${name} (${there})`, [
        number(total, 1, true),
        h("td", { class: "by-terms" }, byTerms(terms)),
    ]);

/** What differs, of pieces as the server tells them; `other` says what the square in brackets is. */
export function differencesTable(pieces, other) {
    if (!pieces.length) return h("p", { class: "note" }, "No piece is worth 8 centipawns more or less.");
    const heads = [columnHead("Piece"), columnHead("Worth, cp"), columnHead("By terms", { class: "by-terms" })];
    return [
        tableBox("Pieces that differ", { class: "plain-table" }, heads, h("tbody", {}, pieces.map(row))),
        h("p", { class: "note" }, `Centipawns for the owner of the piece; in brackets ${other}.`),
    ];
}

/**
 * A sentence that unfolds the numbers behind it.
 * @param {object} attributes of the sentence
 * @param {() => any} numbers makes them when they are looked at
 */
export function unfolding(attributes, numbers) {
    const summary = h("summary", attributes);
    const body = h("div", { class: "numbers" });
    const box = h("details", { class: "unfolds" }, summary, body);
    const fill = () => body.replaceChildren(...(box.open ? [numbers()].flat(Infinity) : []));
    box.addEventListener("toggle", fill);
    return { box, summary, fill };
}
