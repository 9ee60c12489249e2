// The value of each piece: two bar charts, one a side, moving with the board; and Shapley values, which are asked for
// while they are looked at, first rough and then finer.

import { h, note, replace } from "../base/dom.js";
import { reportError } from "../base/flow.js";
import { number, pawns, plural, shortName } from "../base/words.js";
import { isWhite, nameOf } from "../base/game.js";
import { post } from "../base/server.js";
import { picture, valuesBefore } from "../board/board.js";
import { WAYS, changed, isReported, listen, listenTo, question, shown, shownValue, state } from "../state/store.js";

const ORDER = "kqrbnp";
const MAX_PAWNS = 10; // pawns at the end of the scale
const ERRORS = [8, 2]; // centipawns: the first answer comes at once, the second within a second or so
const OF_NO_VALUE = ["moves", "lines", "arrows", "clock"]; // topics that change no value

/** Put the Shapley values of an answer into the report they belong to. */
function take(report, answer) {
    for (const piece of report.pieces) piece.shapley_cp = answer.values[piece.square].value;
    report.shapley = answer;
}

async function askShapley() {
    const report = shown();
    if (state.way !== "shapley" || !report || report.shapley_asked) return;
    if (!isReported()) return; // another position would be asked about: its report comes, and then it is
    report.shapley_asked = true;
    const asked = question(...(state.preview ? [state.preview.move] : []));
    try {
        for (const error of ERRORS) {
            take(report, await post("/api/shapley", { ...asked, error }));
            report.shapley_asked = report.shapley.error <= ERRORS[1] || shown() === report; // else again when seen again
            if (shown() !== report) return;
            changed("values");
            if (report.shapley.error <= ERRORS[1]) return;
        }
    } catch (error) {
        report.shapley_asked = false;
        reportError(error);
    }
}

const rank = ({ piece, square }) => [ORDER.indexOf(piece.toLowerCase()), square].join();

function row(piece, old) {
    const value = shownValue(piece);
    const own = (value ?? 0) * (isWhite(piece.piece) ? 1 : -1); // as its owner sees it
    const width = Math.min(1, Math.sqrt(Math.abs(own) / MAX_PAWNS));
    const change = (value ?? 0) - (old ?? value ?? 0);
    return h(
        `li${own < 0 ? ".against" : ""}`,
        { "data-square": piece.square, title: `${nameOf(piece.piece)} on ${piece.square}` },
        picture(piece.piece, 20),
        h("span.note", piece.square),
        h("span.track", h("i", { style: { width: `${100 * width}%` } })),
        h("span.delta", Math.abs(change) >= 0.005 ? number(change, 2, true) : ""),
        h("b.value", value === null ? "\u2013" : number(value, 2, true)),
    );
}

/** How the Shapley values add up, and how exact they are. */
function shapleyNote(shapley) {
    if (!shapley) return "They are being computed.";
    const error = shapley.error ? `standard error up to ${number(shapley.error / 100, 2)}` : "exact";
    const rest = shapley.baseline ? `, with ${pawns(shapley.baseline)} for the two kings at home,` : "";
    return `The values${rest} add up to the score, ${pawns(shapley.score)} (${error}). A king's value compares its square with its home.`;
}

/** Whether and how the values shown add up. */
function sumNote(report) {
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

/** The bars of a side; where a move is tried, with what it changes from the values before. */
function sideBars(name, pieces) {
    const before = valuesBefore();
    const own = [...pieces].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
    const total = own.reduce((sum, piece) => sum + (shownValue(piece) ?? 0), 0);
    const side = name.toLowerCase();
    const head = h("h3", name, h("span.note", plural(own.length, "piece")), h("b", number(total, 2, true)));
    const bars = own.map((piece) => row(piece, before(piece)));
    return h(`section.bars.${side}`, { "data-side": side }, head, h("ol", bars));
}

function draw(panel) {
    const report = shown();
    if (!report) return;
    const way = WAYS.find(([name]) => name === (state.way === "none" ? "attributed" : state.way)) ?? WAYS[0];
    const words = `${way[1]}: ${way[2].toLowerCase()}, in pawns for White. ${sumNote(report)}`;
    const [white, black] = [true, false].map((side) => report.pieces.filter(({ piece }) => isWhite(piece) === side));
    replace(panel, note(words), h("div.two", sideBars("White", white), sideBars("Black", black)));
}

export function makeBars(panel) {
    listenTo(["report", "preview", "view"], askShapley);
    listen((topics) => {
        if (!OF_NO_VALUE.some((topic) => topics.has(topic))) draw(panel);
    });
}
