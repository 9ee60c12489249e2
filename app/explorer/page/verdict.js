// The score in a line, White's expected score as a bar beside the board, and the sentences.

import { settings } from "./analysis.js";
import { post } from "./api.js";
import { showArrows } from "./drawn_arrows.js";
import { byId, h, pawns, percent, replace, shortName, worded } from "./dom.js";
import { isUnaided, listen, question, shown, state } from "./store.js";

const NODES = 20000; // of the search for a threat

/** Say under the verdict what the other side would win if it were to move, and show it on the board. */
async function askThreat(report) {
    if (isUnaided() || report.fault || report.ending || state.preview || state.mode === "free") {
        if (!state.preview) showThreat(null);
        return;
    }
    if (report.threat === undefined) {
        report.threat = { threat: null, move: null }; // until it is known
        report.threat = await post("/api/threat", { ...question(), nodes: NODES }).catch(() => report.threat);
    }
    if (shown() === report) showThreat(report.threat);
}

function showThreat(found) {
    const place = byId("threat");
    if (place) place.textContent = found?.threat ?? "";
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
    return entry("Status", report.ending ? report.ending[0].toUpperCase() + report.ending.slice(1) : `${side} to move`);
}

function scoreLine(report) {
    const { beside } = report;
    const middlegame = (report.static.white_middlegame + report.static.black_middlegame) / 2;
    return h(
        "div",
        { class: `score ${state.preview ? "trying" : ""}` },
        h("output", { id: "score" }, pawns(report.score_cp)),
        h(
            "dl",
            {},
            entry("White expects", percent(report.static.expected_score, 1), { id: "expected-score" }),
            status(report),
            entry("Middlegame", percent(middlegame)),
            beside && entry(`Score by ${shortName(beside.evaluation)}`, pawns(beside.score_cp), { id: "beside-score" }),
        ),
    );
}

export function makeVerdict() {
    listen((topics) => {
        const report = shown();
        if (!report || !(topics.has("report") || topics.has("preview") || topics.has("view"))) return;
        const { fault, summary, threat } = report;
        const { rule } = report.static;
        replace(
            byId("verdict"),
            scoreLine(report),
            fault ? h("p", { class: "fault" }, `No moves: ${fault}.`) : null,
            rule ? h("p", { class: "fault" }, `Draw rule: ${rule}.`) : null,
            h(
                "p",
                { class: "summary" },
                summary.map((sentence) => `${worded(sentence)} `),
            ),
            h("p", { class: "summary", id: "threat" }, threat?.threat ?? ""),
        );
        askThreat(report);
    });
}
