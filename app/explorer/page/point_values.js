// What pieces are worth in the games that were opened, as `merino points` has it.

import { COLOURS } from "./chart.js";
import { h, number, plural, scrolling } from "./dom.js";

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

/** What pieces are worth in the games: the table, and the score by balance of material. */
export function pointSections(points, balanceChart) {
    const letters = ["P", "N", "B", "R", "Q"],
        names = ["Pawn", "Knight", "Bishop", "Rook", "Queen"];
    return [
        h(
            "div",
            scrolling("Point values"),
            h(
                "table",
                { class: "plain-table", id: "points" },
                h(
                    "thead",
                    {},
                    h(
                        "tr",
                        {},
                        ["Piece", "Value", "95% interval", "Drawn games as half a point"].map((head) =>
                            h("th", { scope: "col" }, head),
                        ),
                    ),
                ),
                h(
                    "tbody",
                    {},
                    letters.map((letter, index) => {
                        const value = points.values[letter],
                            other = points.other.values[letter],
                            interval = points.intervals[letter];
                        return h(
                            "tr",
                            {},
                            h("th", { scope: "row" }, names[index]),
                            h("td", { class: "strong" }, value === null ? "\u2013" : number(value)),
                            h(
                                "td",
                                {},
                                interval && letter !== "P" ? `${number(interval[0])} .. ${number(interval[1])}` : "",
                            ),
                            h("td", {}, other === null ? "\u2013" : number(other)),
                        );
                    }),
                ),
            ),
        ),
        h(
            "p",
            { class: "note" },
            `${plural(points.games, "game")}, ${points.vectors.toLocaleString("en")} positions by material alone; a pawn is 100. Steepness ${points.alpha === null ? "\u2013" : points.alpha.toFixed(3)} a pawn.`,
        ),
        balanceChart,
    ];
}
