// The analysis as it is seen: a switch, its lines with their moves and what they lead to, and arrows on the board.

import { explainLine } from "../base/api.js";
import { compilingText } from "../base/compiling.js";
import {
    button,
    byId,
    checkField,
    framed,
    h,
    panelBar,
    percent,
    replace,
    selectField,
    shortName,
    withMinus,
} from "../base/dom.js";
import { keepFocus } from "../base/focus.js";
import { showArrows } from "../board/board.js";
import { hideBoard, showBoard } from "../board/mini_board.js";
import { MAX_LINES, NONE, best, choose, idleReason, searches, settings, switchAnalysis } from "../state/analysis.js";
import { SHOWN, listenTo, numbered, playLine } from "../state/store.js";
import { differencesTable, unfolding } from "./piece_differences.js";
import { catalogue, chooser, onCatalogue } from "./weights.js";

const SHOWN_PLIES = 14; // of a line
const MIN_SHARE = 0.1; // of points, by which a line may be worse than the best for its move to have an arrow
const CALM_MS = 250; // for which a line must stay before it is explained

const shownMoves = (line) => line.moves.slice(0, SHOWN_PLIES).join();
const isSame = (line, other) => shownMoves(line) === shownMoves(other);

/** A row of the list, updated in its place: what is pointed at stays until the pointer leaves it. */
class Row {
    constructor(search) {
        this.search = search;
        this.line = null; // the one shown
        this.drawn = null; // the one that its moves are of
        this.asked = null; // the search that it is of
        this.key = null; // the same as text
        this.score = h("b", { class: "line-score" });
        this.share = h("span", { class: "line-share", title: "White's expected score" });
        this.moves = h("span", { class: "line-moves", ...this.#listeners() });
        this.pieces = []; // that differ at its end from now
        this.reasons = unfolding({ class: "line-reasons", title: "The numbers behind this" }, () =>
            differencesTable(this.pieces, "where it stands now"),
        );
        this.box = h("li", {}, this.score, this.share, this.moves, this.reasons.box);
        this.box.addEventListener("pointerleave", () => this.show(this.line));
    }

    /** What is done to its moves, heard where they are listed: they may be drawn anew under the pointer. */
    #listeners() {
        const point = (event) => this.#point(event.target.closest("button"));
        return {
            onpointerover: point,
            onfocusin: point,
            onpointerout: hideBoard,
            onfocusout: hideBoard,
            onclick: (event) => this.#play(event.target.closest("button")),
        };
    }

    show(line) {
        this.line = line;
        this.score.textContent = withMinus(line.score.text);
        this.share.textContent = percent(line.score.expected_score);
        if (this.key === this.search.key && (this.box.matches(":hover, :focus-within") || isSame(line, this.drawn)))
            return;
        Object.assign(this, { asked: this.search.asked, key: this.search.key, drawn: line });
        replace(
            this.moves,
            line.names.slice(0, SHOWN_PLIES).map((name, at) => this.#moveElement(name, at)),
        );
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.#explain(line), CALM_MS);
    }

    #moveElement(name, at) {
        const { fen, moves } = this.asked;
        const number = numbered(fen, moves.length + at, at === 0);
        return h(
            "span",
            { class: "ply" },
            number ? h("span", { class: "number" }, number) : null,
            h("button", { type: "button", class: "plain", "data-at": at }, name),
        );
    }

    #play(button) {
        if (!button || !this.search.isCurrent(this.key)) return;
        hideBoard();
        const { moves, names } = this.drawn;
        playLine(moves.slice(0, Number(button.dataset.at) + 1).map((uci, ply) => ({ uci, san: names[ply] })));
    }

    async #point(button) {
        if (!button) return;
        const { steps } = await explainLine(this.asked, this.drawn.moves.slice(0, SHOWN_PLIES));
        const step = steps[button.dataset.at];
        if (button.matches(":hover, :focus")) showBoard(button, step.fen, step.uci);
    }

    async #explain(line) {
        const told = await explainLine(this.asked, line.moves.slice(0, SHOWN_PLIES)).catch(() => null);
        if (this.drawn !== line) return; // others are drawn by now, whose reasons will come
        this.pieces = told?.pieces ?? [];
        this.reasons.summary.textContent = withMinus(told?.reasons.join(" ") ?? "");
        this.reasons.fill();
    }
}

/** @type {Row[][]} */
const rows = searches.map(() => []);
const parts = {};

function drawLines() {
    searches.forEach(({ search }, index) => {
        const list = parts.lists[index];
        const lines = search.found;
        while (rows[index].length < lines.length) rows[index].push(new Row(search));
        lines.forEach((line, at) => rows[index][at].show(line));
        const boxes = rows[index].slice(0, lines.length).map((row) => row.box);
        if (list.children.length === boxes.length) return;
        keepFocus(list, () => {
            list.replaceChildren(...boxes);
            list.hidden = !boxes.length;
        });
    });
    parts.titles.forEach((title, index) => {
        title.hidden = settings.beside === NONE;
        title.textContent = nameOf(settings[searches[index].choice]);
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
    if (compiling) return reason === null ? compiling : `${reason}; ${compiling}`;
    if (!line) return reason ?? "searching";
    const speed = `depth ${line.depth}, ${Math.round(line.nps / 1000).toLocaleString("en")} thousand nodes a second`;
    return reason === null ? speed : `${reason}; depth ${line.depth}`;
}

function showBestMoves() {
    const lines = settings.arrows && settings.isOn ? searches[0].search.found : [];
    const loss = (line) => Math.abs(line.score.expected_score - lines[0].score.expected_score);
    const shown = lines.filter((line) => line.moves.length && loss(line) < MIN_SHARE);
    showArrows(
        "analysis",
        shown.map((line, at) => ({ uci: line.moves[0], kind: "best", share: 1 / (1 + at) })),
    );
}

const draw = framed(() => {
    const line = best();
    parts.power.setAttribute("aria-checked", String(settings.isOn));
    parts.score.textContent = line ? withMinus(line.score.text) : "";
    parts.status.textContent = statusText();
    drawLines();
    showBestMoves();
});

function drawSettings() {
    const counts = [...Array(MAX_LINES).keys()].map((at) => [at + 1, at + 1]);
    const evaluation = (name, label, others) =>
        chooser(`analysis-${name}`, label, settings[name], (value) => choose(name, value), others);
    const shown = [SHOWN, "the evaluation shown"];
    replace(
        parts.settings,
        selectField("analysis-lines", "Lines", counts, settings.lines, (value) => choose("lines", Number(value))),
        evaluation("by", "By", [shown]),
        evaluation("beside", "and by", [[NONE, "no other"], shown]),
        checkField({ id: "analysis-arrows" }, "Arrows", settings.arrows, (isOn) => choose("arrows", isOn)),
    );
}

/** An evaluation that was opened on an earlier visit is no longer there. */
function checkChosen() {
    const known = new Set([SHOWN, NONE, ...catalogue.weights.map((entry) => entry.id)]);
    if (!known.has(settings.by)) choose("by", SHOWN);
    if (!known.has(settings.beside)) choose("beside", NONE);
    drawSettings();
}

export function makeLive() {
    const power = { role: "switch", class: "switch", title: "Search what is on the board (A)" };
    parts.power = button("analysis-switch", [h("i", {}), "Analysis"], switchAnalysis, power);
    parts.score = h("output", { id: "analysis-score", "aria-live": "off" });
    parts.status = h("span", { class: "note", id: "analysis-status" });
    parts.settings = panelBar();
    parts.titles = searches.map(() => h("h3", { hidden: true }));
    parts.lists = searches.map(({ choice }) => h("ol", { class: "lines", id: `lines-${choice}`, hidden: true }));
    const more = h("details", { class: "analysis-settings" }, h("summary", {}, "Settings"), parts.settings);
    const head = h("div", { class: "analysis-head" }, parts.power, parts.score, parts.status, more);
    replace(
        byId("analysis"),
        head,
        parts.titles.map((title, index) => [title, parts.lists[index]]),
    );
    onCatalogue(checkChosen);
    listenTo(["lines", "report", "play"], draw);
    draw();
}
