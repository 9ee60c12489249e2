// The verdict: the score in a line, the sentences on it, what the search sees besides, and the threat.

import { post } from "../base/api.js";
import { byId, capital, h, pawns, percent, replace, shortName, withMinus, worded } from "../base/dom.js";
import { showArrows } from "../board/board.js";
import { best, settings } from "../state/analysis.js";
import { isReported, isUnaided, listen, question, resultOf, shareOf, shown, state } from "../state/store.js";
import { unfolding } from "./piece_differences.js";
import { sentenceParts } from "./sentences.js";

const NODES = 20000; // of the search for a threat
const CLEAR_GAP = 0.1; // of the points, between a search and the evaluation by itself
const NO_THREAT = { threat: null, move: null, score: null, depth: null };

const threat = unfolding({ id: "threat" }, () => {
    const { score, depth } = shown()?.threat ?? NO_THREAT;
    const told = `Searched as if it were the other side's turn: ${score} for White at depth ${depth}, ${NODES.toLocaleString("en")} nodes.`;
    return h("p", { class: "note" }, withMinus(told));
});

/** Say under the verdict what the other side would win if it were to move, and show it on the board. */
async function askThreat(report) {
    if (isUnaided() || report.fault || report.ending || state.preview || state.mode === "free") {
        if (!state.preview) showThreat(null);
        return;
    }
    if (report.threat === undefined && isReported()) {
        report.threat = NO_THREAT; // until it is known
        report.threat = await post("/api/threat", { ...question(), nodes: NODES }).catch(() => undefined);
    }
    if (shown() === report) showThreat(report.threat);
}

function showThreat(found) {
    threat.summary.textContent = withMinus(found?.threat ?? "");
    threat.box.hidden = !found?.threat;
    threat.fill();
    showArrows("threat", found?.move && settings.arrows ? [{ uci: found.move, kind: "threat", share: 0.5 }] : []);
}

const entry = (title, text, more = {}) => h("div", {}, h("dt", {}, title), h("dd", more, text));

/** Whose turn it is, or how the game has ended; where a move is tried, what it changes. */
function status(report) {
    if (state.preview) {
        const tried = state.report.moves.find((move) => move.uci === state.preview.move);
        return entry(`by ${tried?.san}`, pawns(report.score_cp - state.report.score_cp));
    }
    const side = report.to_move === "white" ? "White" : "Black";
    return entry("Status", report.ending ? capital(report.ending) : `${side} to move`);
}

function scoreLine(report) {
    const { beside } = report;
    const result = state.preview ? null : resultOf(report);
    const middlegame = (report.static.white_middlegame + report.static.black_middlegame) / 2;
    return h(
        "div",
        { class: `score ${state.preview ? "trying" : ""}` },
        h("output", { id: "score", "aria-live": "off" }, result ?? pawns(report.score_cp)),
        h(
            "dl",
            {},
            entry(result ? "White has" : "White expects", percent(shareOf(report), 1), { id: "expected-score" }),
            status(report),
            entry("Middlegame", percent(middlegame)),
            beside && entry(`Score by ${shortName(beside.evaluation)}`, pawns(beside.score_cp), { id: "beside-score" }),
        ),
    );
}

const searched = h("p", { class: "summary", id: "searched" });

/** Say what the search finds, where that is something else: a score by itself does not see what is about to be taken. */
function showSearched() {
    const [line, report] = [best(), state.report];
    const differs = line && report && !state.preview && !report.ending;
    const gap = differs ? Math.abs(line.score.expected_score - report.static.expected_score) : 0;
    searched.hidden = gap < CLEAR_GAP;
    if (searched.hidden) return;
    const [share, first] = [percent(line.score.expected_score), line.names[0]];
    const told = `The search sees more than stands on the board: ${line.score.text} (${share}) at depth ${line.depth}, by ${first}.`;
    searched.textContent = withMinus(told);
}

export function makeVerdict() {
    listen((topics) => {
        if (topics.has("lines") || topics.has("report") || topics.has("preview")) showSearched();
        const report = shown();
        if (!report || !(topics.has("report") || topics.has("preview") || topics.has("view"))) return;
        const { fault, summary } = report;
        const { rule } = report.static;
        replace(
            byId("verdict"),
            scoreLine(report),
            fault ? h("p", { class: "fault" }, `No moves: ${fault}.`) : null,
            rule ? h("p", { class: "fault" }, `Draw rule: ${rule}.`) : null,
            h(
                "p",
                { class: "summary" },
                summary.map((sentence) => [sentenceParts(withMinus(worded(sentence))), " "]),
            ),
            searched,
            threat.box,
        );
        showThreat(report.threat);
        askThreat(report);
    });
}
