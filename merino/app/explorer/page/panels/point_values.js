// What pieces are worth in the games that were opened, as `merino points` has it.

import { COLOURS } from "../base/chart.js";
import { h, number, plainTable, plural, tableRow } from "../base/dom.js";

/** The mean score by balance of material, and the curve fitted to it. */
export function balanceData(points) {
    const graph = points.score_graph;
    const seen = graph.bins.filter((bin) => bin.vectors);
    return {
        series: [
            {
                name: "Mean score of White",
                colour: COLOURS[0],
                kind: "dots",
                points: seen.map((bin) => [bin.balance, bin.score]),
            },
            {
                name: `1 / (1 + exp(\u2212${graph.alpha.toFixed(3)} \u00d7 balance))`,
                colour: COLOURS[1],
                points: graph.bins.map((bin) => [bin.balance, bin.expected]),
            },
        ],
        y: [0, 1],
        xName: "balance of material, 1-3-3-5-9",
        yName: "score of White",
        yDigits: 1,
    };
}

const PIECES = [
    ["P", "Pawn"],
    ["N", "Knight"],
    ["B", "Bishop"],
    ["R", "Rook"],
    ["Q", "Queen"],
];
const HEADS = ["Piece", "Value", "95% interval", "Drawn games as half a point"];
const orDash = (value, text) => (value === null ? "\u2013" : text(value));

function pieceRow(letter, name, points) {
    const interval = letter === "P" ? null : points.intervals[letter]; // a pawn is the unit
    return tableRow(name, [
        h("td", { class: "strong" }, orDash(points.values[letter], number)),
        interval ? `${number(interval[0])} .. ${number(interval[1])}` : "",
        orDash(points.other.values[letter], number),
    ]);
}

/** What pieces are worth in the games: the table, and the score by balance of material. */
export function pointSections(points, balanceChart) {
    const of = `${plural(points.games, "game")}, ${points.vectors.toLocaleString("en")} positions by material alone`;
    const steepness = orDash(points.alpha, (alpha) => alpha.toFixed(3));
    return [
        plainTable(
            "points",
            HEADS,
            PIECES.map(([letter, name]) => pieceRow(letter, name, points)),
        ),
        h("p", { class: "note" }, `${of}; a pawn is 100. Steepness ${steepness} a pawn.`),
        balanceChart,
    ];
}
