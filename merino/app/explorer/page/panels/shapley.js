// Shapley values of the pieces: asked for while they are looked at, first rough and then finer.

import { post } from "../base/api.js";
import { tellError } from "../base/dom.js";
import { changed, isReported, listenTo, question, shown, state } from "../state/store.js";

const ERRORS = [8, 2]; // centipawns: the first answer comes at once, the second within a second or so

/** Put the values of an answer into the report they belong to. */
function keep(report, answer) {
    for (const piece of report.pieces) piece.shapley_cp = answer.values[piece.square].value;
    report.shapley = answer;
}

async function ask() {
    const report = shown();
    if (state.way !== "shapley" || !report || report.shapley_asked) return;
    if (!isReported()) return; // another position would be asked about: its report comes, and then it is
    report.shapley_asked = true;
    const asked = question(...(state.preview ? [state.preview.move] : []));
    try {
        for (const error of ERRORS) {
            keep(report, await post("/api/shapley", { ...asked, error }));
            if (shown() !== report) {
                report.shapley_asked = report.shapley.error <= ERRORS[1]; // else it is refined when seen again
                return;
            }
            changed("values");
            if (report.shapley.error <= ERRORS[1]) return;
        }
    } catch (error) {
        report.shapley_asked = false;
        tellError(error);
    }
}

export function makeShapley() {
    listenTo(["report", "preview", "view"], ask);
}
