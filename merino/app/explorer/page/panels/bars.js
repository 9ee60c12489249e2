// Two bar charts, one a side: the value of each piece, moving with the board.

import { h, number, pawns, plural, replace, shortName } from "../base/dom.js";
import { nameOf, picture } from "../board/board.js";
import { WAYS, listen, shown, state, shownValue } from "../state/store.js";

const ORDER = "kqrbnp";
const MAX_PAWNS = 10; // pawns at the end of the scale

function rank(piece) {
    return [ORDER.indexOf(piece.piece.toLowerCase()), piece.square[0], piece.square[1]].join();
}

function row(piece, old) {
    const value = shownValue(piece);
    const sign = piece.piece === piece.piece.toUpperCase() ? 1 : -1;
    const own = value === null ? 0 : sign * value; // as its owner sees it
    const width = Math.min(1, Math.sqrt(Math.abs(own) / MAX_PAWNS));
    const change = old !== undefined && value !== null && old !== null ? value - old : 0;
    return h(
        "li",
        {
            class: own < 0 ? "against" : "",
            "data-square": piece.square,
            title: `${nameOf(piece.piece)} on ${piece.square}`,
        },
        picture(piece.piece, 20),
        h("span", { class: "square" }, piece.square),
        h("span", { class: "track" }, h("i", { style: { width: `${100 * width}%` } })),
        h("span", { class: "delta" }, Math.abs(change) >= 0.005 ? number(change, 2, true) : ""),
        h("span", { class: "value" }, value === null ? "\u2013" : number(value, 2, true)),
    );
}

/** How the Shapley values add up, and how exact they are. */
function shapleyNote(shapley) {
    if (!shapley) return "They are being computed.";
    const error = shapley.error ? `standard error up to ${number(shapley.error / 100, 2)}` : "exact";
    const rest = shapley.baseline ? `, with ${pawns(shapley.baseline)} for the two kings at home,` : "";
    return `The values${rest} add up to the score, ${pawns(shapley.score)} (${error}). A king's value is that of his place, compared with home.`;
}

/** Whether and how the values shown add up. */
function sharedNote(report) {
    const { beside, shapley } = report;
    if (state.way === "shapley") return shapleyNote(shapley);
    if (state.way === "beside" && beside) {
        const name = shortName(beside.evaluation);
        if (beside.shared_cp === null) return `By ${name}, by removal.`;
        return `The values of ${name} with a rest of ${pawns(beside.shared_cp)} sum to its score.`;
    }
    if ((state.way === "attributed" || state.way === "none") && report.shared_cp !== null)
        return `Attributed values and a shared rest of ${pawns(report.shared_cp)} sum to ${pawns(report.static.sum_cp)}.`;
    return "Removal values include what pieces do for each other, so they do not add up to the score.";
}

/** The bars of a side; where a move is tried, with what it changes from the values `before`. */
function sideBars(name, pieces, before) {
    const [from, to] = [state.preview?.move.slice(0, 2), state.preview?.move.slice(2, 4)];
    const own = [...pieces].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
    const total = own.reduce((sum, piece) => sum + (shownValue(piece) ?? 0), 0);
    return h(
        "section",
        { class: `bars ${name.toLowerCase()}`, "data-side": name.toLowerCase() },
        h("h3", {}, name, h("span", {}, plural(own.length, "piece")), h("b", {}, number(total, 2, true))),
        h(
            "ol",
            {},
            own.map((piece) => row(piece, before?.get(piece.square === to ? from : piece.square))),
        ),
    );
}

function draw(panel) {
    const report = shown();
    if (!report) return;
    const before = state.preview && new Map(state.report.pieces.map((piece) => [piece.square, shownValue(piece)]));
    const isWhite = ({ piece }) => piece === piece.toUpperCase();
    const way = WAYS.find(([name]) => name === (state.way === "none" ? "attributed" : state.way)) ?? WAYS[0];
    const note = `${way[1]}: ${way[2].toLowerCase()}, in pawns for White. ${sharedNote(report)}`;
    const sides = [
        sideBars("White", report.pieces.filter(isWhite), before),
        sideBars(
            "Black",
            report.pieces.filter((piece) => !isWhite(piece)),
            before,
        ),
    ];
    replace(panel, h("p", { class: "note" }, note), h("div", { class: "two" }, sides));
}

const OF_NO_VALUE = ["moves", "lines", "arrows", "clock", "opening"]; // topics that change no value

export function makeBars(panel) {
    listen((topics) => {
        if (!OF_NO_VALUE.some((topic) => topics.has(topic))) draw(panel);
    });
}
