// White's expected score as a bar beside the board: by the search while there is one, else by the evaluation alone.

import { byId, percent } from "../base/dom.js";
import { best } from "../state/analysis.js";
import { listenTo, resultOf, shareOf, shown, state } from "../state/store.js";

function draw() {
    const report = shown();
    if (!report) return;
    const line = state.preview ? null : best();
    const share = line ? line.score.expected_score : shareOf(report);
    const source = resultOf(report)
        ? "the game is over"
        : line
          ? `by search to depth ${line.depth}`
          : `by the evaluation alone, 1 / (1 + exp(-score / ${report.k.toFixed(1)} centipawns))`;
    const bar = byId("expected");
    bar.classList.toggle("flipped", state.flipped);
    bar.firstElementChild.style.height = percent(share, 2);
    bar.lastElementChild.textContent = Math.round(100 * share);
    bar.setAttribute("aria-label", `White's expected score ${percent(share)}`);
    bar.title = `White's expected score, win and half a draw, ${percent(share, 1)}: ${source}`;
}

export function makeExpectedBar() {
    listenTo(["report", "preview", "view", "lines"], draw);
}
