// The analysis as it is seen: a switch, its lines with their moves and what they lead to, and arrows on the board.

import { byId, h, keepFocus, options, replace } from "../base/dom.js";
import { framed } from "../base/flow.js";
import { percent, shortName, thousands, withMinus } from "../base/words.js";
import { numbered } from "../base/game.js";
import { compilingText, explainLine } from "../base/server.js";
import { showArrows } from "../board/board.js";
import { hideBoard, showBoard } from "../board/pictures.js";
import { NONE, best, choose, idleReason, searches, settings, switchAnalysis } from "../state/analysis.js";
import { SHOWN, listenTo, playLine } from "../state/store.js";
import { catalogue, evaluations, onCatalogue } from "./weights.js";

const SHOWN_PLIES = 14; // of a line
const MIN_SHARE = 0.1; // of points, by which a line may be worse than the best for its move to have an arrow
const CALM_MS = 250; // for which a line must stay before it is explained

const shownMoves = (line) => line.moves.slice(0, SHOWN_PLIES);
const isSame = (line, other) => shownMoves(line).join() === shownMoves(other).join();

/** A row of the list, updated in its place: what is pointed at stays until the pointer leaves it. */
class Row {
    /** @type {any} */
    line = null; // the one shown
    /** @type {any} */
    drawn = null; // the one that its moves are of
    /** @type {any} */
    asked = null; // the search that it is of
    key = null; // the same as text
    score = h("b.line-score");
    share = h("span.line-share.faint", { title: "White's expected score" });
    reasons = h("p.line-reasons");

    constructor(search) {
        const point = (event) => this.#point(event.target.closest("button"));
        const play = (event) => this.#play(event.target.closest("button"));
        this.search = search;
        // heard where the moves are listed: they may be drawn again under the pointer
        this.moves = h("span.line-moves", {
            onpointerover: point,
            onfocusin: point,
            onpointerout: hideBoard,
            onfocusout: hideBoard,
            onclick: play,
        });
        this.box = h("li", this.score, this.share, this.moves, this.reasons);
        this.box.addEventListener("pointerleave", () => this.show(this.line));
    }

    show(line) {
        this.line = line;
        this.score.textContent = withMinus(line.score.text);
        this.share.textContent = percent(line.score.expected_score);
        const isHeld = () => this.box.matches(":hover, :focus-within") || isSame(line, this.drawn);
        if (this.key === this.search.key && isHeld()) return;
        Object.assign(this, { asked: this.search.asked, key: this.search.key, drawn: line });
        const { fen, moves } = this.search.asked;
        const move = (name, at) => {
            const number = numbered(fen, moves.length + at, at === 0);
            return h("span.ply", number && h("span.number", number), h("button.plain", { "data-at": at }, name));
        };
        replace(this.moves, line.names.slice(0, SHOWN_PLIES).map(move));
        this.reasons.textContent = ""; // they are those of other moves
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.#explain(line), CALM_MS);
    }

    #play(button) {
        if (!button || !this.search.isCurrent(this.key)) return;
        hideBoard();
        const { moves, names } = this.drawn;
        playLine(moves.slice(0, Number(button.dataset.at) + 1).map((uci, ply) => ({ uci, san: names[ply] })));
    }

    async #point(button) {
        if (!button) return;
        const { steps } = await explainLine(this.asked, shownMoves(this.drawn));
        const step = steps[button.dataset.at];
        if (button.matches(":hover, :focus")) showBoard(button, step.fen, step.uci);
    }

    async #explain(line) {
        const found = await explainLine(this.asked, shownMoves(line)).catch(() => null);
        if (this.drawn !== line) return; // others are drawn by now, whose reasons will come
        this.reasons.textContent = withMinus(found?.reasons.join(" ") ?? "");
    }
}

/** @type {Row[][]} */
const rows = searches.map(() => []);

function drawLines({ search, choice }, index) {
    const list = byId(`lines-${choice}`);
    const own = rows[index];
    const lines = search.found;
    while (own.length < lines.length) own.push(new Row(search));
    lines.forEach((line, at) => own[at].show(line));
    const title = list.previousElementSibling;
    title.hidden = settings.beside === NONE;
    title.textContent = nameOf(settings[choice]);
    if (list.children.length === lines.length) return;
    keepFocus(list, () => {
        list.replaceChildren(...own.slice(0, lines.length).map((row) => row.box));
        list.hidden = !lines.length;
    });
}

const nameOf = (id) =>
    id === SHOWN
        ? "By the evaluation shown"
        : `By ${shortName(catalogue.weights.find((each) => each.id === id)?.name ?? id)}`;

function statusText() {
    const reason = idleReason();
    const line = best();
    const compiling = compilingText();
    const speed = line ? `, ${thousands(Math.round(line.nps / 1000))} thousand nodes a second` : "";
    const found = compiling || (line && `depth ${line.depth}${reason === null ? speed : ""}`);
    return [reason, found].filter(Boolean).join("; ") || "searching";
}

function showBestMoves() {
    const lines = settings.arrows && settings.isOn ? searches[0].search.found : [];
    const loss = (line) => Math.abs(line.score.expected_score - lines[0].score.expected_score);
    const good = lines.filter((line) => line.moves.length && loss(line) < MIN_SHARE);
    const arrow = (line, at) => ({ uci: line.moves[0], kind: "best", share: 1 / (1 + at) });
    showArrows("analysis", good.map(arrow));
}

const draw = framed(() => {
    byId("analysis-switch").checked = settings.isOn;
    byId("analysis-score").textContent = withMinus(best()?.score.text ?? "");
    byId("analysis-status").textContent = statusText();
    searches.forEach(drawLines);
    showBestMoves();
});

/** Offer the evaluations there are; one that was opened on an earlier visit is no longer there. */
function drawSettings() {
    const shown = [SHOWN, "the evaluation shown"];
    const offered = { by: [shown], beside: [[NONE, "no other"], shown] };
    for (const [name, others] of Object.entries(offered)) {
        const pairs = [...others, ...evaluations()];
        if (!pairs.some(([id]) => id === settings[name])) choose(name, others[0][0]);
        byId(`analysis-${name}`).replaceChildren(...options(pairs, settings[name]));
    }
    byId("analysis-lines").value = settings.lines;
    byId("analysis-arrows").checked = settings.arrows;
}

export function makeLive() {
    byId("analysis-switch").onclick = switchAnalysis;
    byId("analysis-lines").onchange = (event) => choose("lines", Number(event.target.value));
    byId("analysis-arrows").onchange = (event) => choose("arrows", event.target.checked);
    for (const name of ["by", "beside"])
        byId(`analysis-${name}`).onchange = (event) => choose(name, event.target.value);
    onCatalogue(drawSettings);
    listenTo(["lines", "report", "play"], draw);
    draw();
}
