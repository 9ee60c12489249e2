// The analysis as it is seen: a switch, its lines with their moves and what they lead to, and arrows on the board.

import { byId, h, keepFocus, options, replace } from "../base/dom.js";
import { framed, keepPointed, reportError } from "../base/flow.js";
import { percent, shortName, thousands, withMinus } from "../base/words.js";
import { compilingText, explainLine } from "../base/server.js";
import { showArrows } from "../board/board.js";
import { lineMoves, linePlace } from "../board/lines.js";
import { NONE, choose, found, idleReason, searches, settings, switchAnalysis } from "../state/analysis.js";
import { SHOWN, listenTo, playLine, position, question } from "../state/store.js";
import { catalogue, evaluations, onCatalogue } from "./weights.js";

const SHOWN_PLIES = 24; // of a line, as far as there is room
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
    asked = null; // the position that it is of
    key = ""; // the same as text
    score = h("b.line-score");
    share = h("span.line-share.faint", { title: "White's expected score" });
    reasons = h("p.line-reasons");

    constructor(lines) {
        this.lines = lines;
        const shown = () => ({ asked: this.asked, moves: shownMoves(this.drawn) });
        this.moves = linePlace(shown, (plies) => this.#play(plies));
        this.box = h("li", this.score, this.share, this.moves, this.reasons);
        this.box.addEventListener("pointerleave", () => this.key === position() && this.show(this.line));
    }

    show(line) {
        this.line = line;
        const isCurrent = this.key === position();
        const isDrawn = isCurrent && isSame(line, this.drawn);
        const isHeld = isCurrent && !isDrawn && this.box.matches(":hover, :focus-within");
        const now = isHeld ? this.lines().find(({ moves }) => moves[0] === this.drawn.moves[0]) : line;
        if (now) {
            this.score.textContent = withMinus(now.score.text);
            this.share.textContent = percent(now.score.expected_score);
        }
        if (isDrawn || isHeld) return;
        const { fen, moves } = question();
        Object.assign(this, { asked: { fen, moves }, key: position(), drawn: line });
        replace(this.moves, lineMoves(line.names.slice(0, SHOWN_PLIES), fen, moves.length));
        this.#say(""); // its reasons are those of other moves
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.#explain(line), CALM_MS);
    }

    #play(plies) {
        if (this.key !== position()) return;
        const { moves, names } = this.drawn;
        playLine(moves.slice(0, plies).map((uci, ply) => ({ uci, san: names[ply] })));
    }

    async #explain(line) {
        const found = await explainLine(this.asked, shownMoves(line)).catch(reportError);
        if (this.drawn !== line) return; // others are drawn by now, whose reasons will come
        this.#say(withMinus(found?.reasons.join(" ") ?? ""));
    }

    #say(text) {
        keepPointed(() => (this.reasons.textContent = text));
    }
}

/** @type {Row[][]} */
const rows = searches.map(() => []);

const shownLines = (lines) => (settings.isOn ? lines.slice(0, settings.lines) : []);

function drawLines({ search, choice }, index) {
    const list = byId(`lines-${choice}`);
    const own = rows[index];
    const all = () => (choice === "by" ? found() : search.found);
    const lines = shownLines(all());
    while (own.length < lines.length) own.push(new Row(all));
    lines.forEach((line, at) => own[at].show(line));
    const title = list.previousElementSibling;
    title.hidden = settings.beside === NONE;
    title.textContent = nameOf(settings[choice]);
    list.style.setProperty("--rows", settings.lines); // whose room stays while lines are coming
    list.hidden = !lines.length && (idleReason() !== null || settings[choice] === NONE);
    if (list.children.length === lines.length) return;
    keepFocus(list, () => list.replaceChildren(...own.slice(0, lines.length).map((row) => row.box)));
}

function nameOf(id) {
    if (id === SHOWN) return "By the evaluation shown";
    return `By ${shortName(offered().find(([each]) => each === id)?.[1] ?? id)}`;
}

function statusText() {
    if (!settings.isOn) return "off";
    const reason = idleReason();
    const [line] = searches[0].search.lines;
    const compiling = compilingText();
    const speed = line ? `, ${thousands(Math.round(line.nps / 1000))}k nodes/s` : "";
    const found = compiling || (line && `depth ${line.depth}${reason === null ? speed : ""}`);
    const ended = searches[0].search.isRunning || compiling ? "" : "ended"; // by a fault, or as all has been searched
    return [reason ?? ended, found].filter(Boolean).join("; ") || "searching";
}

function showBestMoves() {
    const lines = settings.arrows ? shownLines(found()) : [];
    const loss = (line) => Math.abs(line.score.expected_score - lines[0].score.expected_score);
    const good = lines.filter((line) => line.moves.length && loss(line) < MIN_SHARE);
    const arrow = (line, at) => ({ uci: line.moves[0], kind: "best", share: 1 / (1 + at) });
    showArrows("analysis", good.map(arrow));
}

const draw = framed(() => {
    byId("analysis-switch").checked = settings.isOn;
    byId("analysis-status").textContent = statusText();
    searches.forEach(drawLines);
    showBestMoves();
});

/** Who can judge, as pairs of id and name. */
const offered = () => [...catalogue.judges, [SHOWN, "the evaluation shown"], ...evaluations()];

/** Offer who can judge; an evaluation that was opened on an earlier visit is no longer there. */
function drawSettings() {
    for (const [name, others] of Object.entries({ by: [], beside: [[NONE, "no other"]] })) {
        const pairs = [...others, ...offered()];
        if (!pairs.some(([id]) => id === settings[name])) choose(name, pairs[0][0]);
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
