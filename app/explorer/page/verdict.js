// The score in a line, White's expected score as a bar beside the board, and the sentences.

import { settings } from "./analysis.js";
import { post } from "./api.js";
import { setArrows } from "./arrows.js";
import { byId, h, pawns, percent, replace, shortName, worded } from "./dom.js";
import { listen, question, shown, state } from "./store.js";

const NODES = 20000; // of the search for a threat

/** Say under the verdict what the other side would win if it were to move, and show it on the board. */
async function askThreat(report) {
    if (report.fault || report.ending || state.preview || state.mode === "free") {
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
    setArrows("threat", found?.move && settings.arrows ? [{ uci: found.move, kind: "threat", share: 0.5 }] : []);
}

export function makeVerdict() {
    listen((topics) => {
        const report = shown();
        if (!report || !(topics.has("report") || topics.has("preview") || topics.has("view"))) return;
        const share = report.static.expected_score,
            tried = Boolean(state.preview);
        const change = tried ? report.score_cp - state.report.score_cp : 0;
        const middlegame = (report.static.white_middlegame + report.static.black_middlegame) / 2;
        const status = report.ending
            ? report.ending[0].toUpperCase() + report.ending.slice(1)
            : `${report.to_move === "white" ? "White" : "Black"} to move`;
        const san = tried && state.report.moves.find((move) => move.uci === state.preview.move)?.san;
        replace(
            byId("verdict"),
            h(
                "div",
                { class: `score ${tried ? "trying" : ""}` },
                h("output", { id: "score" }, pawns(report.score_cp)),
                h(
                    "dl",
                    {},
                    h("div", {}, h("dt", {}, "White expects"), h("dd", { id: "expected-score" }, percent(share, 1))),
                    h(
                        "div",
                        {},
                        h("dt", {}, tried ? `by ${san}` : "Status"),
                        h("dd", {}, tried ? `${pawns(change)}` : status),
                    ),
                    h("div", {}, h("dt", {}, "Middlegame"), h("dd", {}, percent(middlegame))),
                    report.beside
                        ? h(
                              "div",
                              { title: report.beside.evaluation },
                              h("dt", {}, `Score by ${shortName(report.beside.evaluation)}`),
                              h("dd", { id: "beside-score" }, pawns(report.beside.score_cp)),
                          )
                        : null,
                ),
            ),
            report.fault ? h("p", { class: "fault" }, `No moves: ${report.fault}.`) : null,
            report.static.rule ? h("p", { class: "fault" }, `Draw rule: ${report.static.rule}.`) : null,
            h(
                "p",
                { class: "summary" },
                report.summary.map((sentence) => `${worded(sentence)} `),
            ),
            h("p", { class: "summary", id: "threat" }, report.threat?.threat ?? ""),
        );
        askThreat(report);
    });
}
