// Two moves compared: both are searched, and their lines and terms set against each other.

import { post } from "../base/api.js";
import { columnHead, h, number, spaced, tableBox, tableRow, tellError, tint, withMinus, worded } from "../base/dom.js";
import { question } from "../state/store.js";
import { differencesTable, unfolding } from "./piece_differences.js";

const NODES = 50000; // of each search
const MIN_SHOWN = 0.05;
const SCALE = 60; // centipawns of the strongest colour

/** What the server says of two moves in short notation; null, and an error shown, where it cannot compare them. */
export async function compareMoves(first, second) {
    try {
        return await post("/api/compare", { ...question(), first_move: first, second_move: second, nodes: NODES });
    } catch (error) {
        tellError(error);
        return null;
    }
}

const row = (title, a, b, difference, digits, colour) =>
    tableRow(title, [
        ...[a, b].map((value) => number(value, digits, true)),
        h("td", { style: { background: colour } }, number(difference, digits, true)),
    ]);

function termRows(...changes) {
    const [a, b] = changes.map(({ terms }) => Object.fromEntries(terms.map((term) => [term.name, term.change_cp])));
    const names = new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...names]
        .map((name) => [name, a[name] ?? 0, b[name] ?? 0])
        .filter(([, x, y]) => Math.abs(x) >= MIN_SHOWN || Math.abs(y) >= MIN_SHOWN)
        .sort((x, y) => Math.abs(y[2] - y[1]) - Math.abs(x[2] - x[1]))
        .map(([name, x, y]) => row(spaced(name), x, y, y - x, 1, tint(y - x, SCALE)));
}

/** Why one is better, which unfolds the pieces that stand better or worse at the end of its line. */
function whySection({ why, why_pieces: pieces }) {
    const { box, summary } = unfolding({ id: "why" }, () => differencesTable(pieces, "where it stands with the other"));
    summary.textContent = withMinus(why.join(" "));
    return box;
}

/** The card that shows what `compareMoves` has found. */
export function comparison(compared) {
    const [a, b] = compared.moves;
    const heads = ["Term", a.san, b.san, "Difference"].map((title) => columnHead(title));
    const whole = row(
        "Change of the score",
        a.change.change_cp,
        b.change.change_cp,
        compared.change.change_cp,
        0,
        "",
    );
    return h(
        "section",
        { class: "card", id: "comparison" },
        h("h3", {}, `${b.san} instead of ${a.san}`),
        whySection(compared),
        h("p", { class: "note" }, worded(`At once: ${compared.summary.join(" ")}`)),
        tableBox(
            "Terms of both moves",
            { class: "plain-table" },
            heads,
            h("tbody", {}, termRows(a.change, b.change)),
            h("tfoot", {}, whole),
        ),
    );
}
