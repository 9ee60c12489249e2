// The verdict: what the search finds, the threat, and below the evaluation before any move. Sentences lead to the numbers
// that they are made from: to their place under Terms, each term in them to its row; others unfold what proves them.

import { byId, h, note, replace } from "../base/dom.js";
import { capital, pawns, percent, plural, shortName, thousands, withMinus, worded } from "../base/words.js";
import { framed, keepPointed, reportError } from "../base/flow.js";
import { explainLine, post } from "../base/server.js";
import { showArrows } from "../board/board.js";
import { lineMoves, linePlace } from "../board/lines.js";
import { boardPicture } from "../board/pictures.js";
import { phrases, calledSo } from "./terms.js";
import { best, idleReason, judged, lineOf, searches, settings } from "../state/analysis.js";
import { changed, question, shown, state, isReported, isUnaided, listenTo, resultOf, shareOf } from "../state/store.js";
import { openTab } from "../state/tabs.js";

const POINTED_MS = 2500;

/**
 * Where the numbers of a sentence stand under Terms, by how it begins; others are about the score.
 * @type {[RegExp, string][]}
 */
const PLACES = [
    [/^Around this position/, "#words-share"],
    [/^The (net rates|terms explain)/, "#words-table [data-said='What the terms do not explain']"],
    [/^With(out)? (White|Black)'s/, "#rest-table"],
    [/^(By the terms |In (White|Black)'s favour)/, "#words-table, #term-table"],
    [/^Material/, "[data-group=Material]"],
    [/^A draw rule/, "#term-rule"],
];
const SCORE = "#term-score, #without-terms";

/** Open the terms, and mark what was asked for. */
function showUnderTerms(selector) {
    openTab("terms");
    changed("term");
    const found = /** @type {HTMLElement | null} */ (document.querySelector(selector));
    if (!found) return;
    found.tabIndex = -1;
    found.focus({ preventScroll: true });
    found.scrollIntoView({ block: "nearest", behavior: "instant" });
    found.classList.add("pointed");
    setTimeout(() => found.classList.remove("pointed"), POINTED_MS);
}

function showTerm(name) {
    openTab("terms");
    if (!state.report.without_terms) state.term = name;
    showUnderTerms(`[data-term='${name}'], [data-said-term='${name}']`);
}

/** A part of a text that can be pressed; unlike a button it breaks where its line ends. */
function pressable(text, title, act) {
    const press = (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        act();
    };
    return h("span.said", { role: "button", tabindex: 0, title, onclick: act, onkeydown: press }, text);
}

const placeOf = (sentence) => PLACES.find(([begins]) => begins.test(sentence))?.[1] ?? SCORE;

/** What is called so in a sentence: a term, or the material. */
function mention(text, called) {
    if (called === "material") return pressable(text, "The pieces", () => showUnderTerms("[data-group=Material]"));
    const name = calledSo(called);
    return name ? pressable(text, "Where this comes from", () => showTerm(name)) : text;
}

/** The parts of a sentence as elements. */
function sentenceParts(sentence) {
    const called = ["material", ...phrases()].sort((a, b) => b.length - a.length).join("|");
    const parts = sentence.split(new RegExp(`\\b((?:${called})(?: \\([^)]*\\))?(?: \\d+\\.\\d\\d)?)(?![a-z])`));
    const named = new RegExp(`^(?:${called})`);
    const act = () => showUnderTerms(placeOf(sentence));
    return parts.map((part, at) => {
        if (at % 2) return mention(part, named.exec(part)?.[0]);
        return at === 0 && part ? pressable(part, "The numbers behind this", act) : part;
    });
}

/** A line of a claim, which `play` plays if it can be played, and the position at its end. */
function provedLine({ fen }, line, title, play) {
    const asked = { fen, moves: [] };
    /** @type {any[]} */
    let steps = [];
    const place = linePlace(
        () => ({ asked, moves: line }),
        (plies) => play?.(steps.slice(0, plies)),
    );
    const box = h("div", note(title), place);
    explainLine(asked, line).then((found) => {
        steps = found.steps;
        const end = steps.at(-1);
        const names = steps.map(({ san }) => san);
        place.append(...lineMoves(names, fen));
        box.append(boardPicture(end.fen, end.uci));
    }, reportError);
    return box;
}

/**
 * What proves claims: their lines, the positions at the ends, and the searches.
 * @param {any[]} claims
 * @param {(claim: any, steps: any[]) => void} [play] plays so many moves of the line of a claim
 */
export const proofs = (claims, play) =>
    claims.map((claim) => {
        const { text, proof, wins, line, other_line: other } = claim;
        const compared = other.length && ["at the end of the other line", "at the end of this one"];
        const passed = claim.kind === "tempo" && ["after a pass", "after the move"];
        const [before, after] = passed || compared || ["where the line begins", "at its end"];
        const plays = /threat/.test(text) ? undefined : play; // its line begins after a pass
        const scores = proof && [proof.score_before.text, before, proof.score_after.text, after];
        return h(
            "div.proof",
            provedLine(claim, line, `${capital(text)}:`, plays && ((steps) => plays(claim, steps))),
            wins &&
                note(`Material won: worth ${plural(wins.pawns, "pawn")}, after ${plural(wins.ply, "ply", "plies")}.`),
            other.length > 0 && provedLine(claim, other, "Compared with the end of this line:"),
            note(
                scores
                    ? withMinus(`Score ${scores[0]} ${scores[1]}, ${scores[2]} ${scores[3]}, for White: searches by `) +
                          `${proof.judge}, ${thousands(proof.nodes)} nodes each.`
                    : "The rules of chess prove it.",
            ),
        );
    });

/**
 * A sentence that unfolds the numbers behind it.
 * @param {string} selector of the sentence: its id and its classes
 * @param {object} attributes of the sentence
 * @param {() => any} numbers makes them when they are looked at
 */
export function unfolding(selector, attributes, numbers) {
    const summary = h(`summary${selector}`, attributes);
    const body = h("div.numbers");
    const box = h("details.unfolds", summary, body);
    const fill = () => body.replaceChildren(...(box.open ? [numbers()].flat(Infinity) : []));
    box.addEventListener("toggle", fill);
    return { box, summary, fill };
}

const NODES = 20000; // of the search for a threat
const NO_THREAT = { threat: null, move: null, score: null, depth: null, claims: [] };

const score = h("output#score", { "aria-live": "off" });
const share = h("dd#expected-score");
const searched = h("p#searched.summary");
const threat = unfolding("#threat", {}, () => {
    const { depth, claims } = shown()?.threat ?? NO_THREAT;
    return depth && [note(`Searched to depth ${depth} as if it were the other side's turn.`), proofs(claims)];
});

/** Say under the verdict what the other side would win if it were to move, and show it on the board. */
async function askThreat(report) {
    if (isUnaided() || report.fault || report.ending || state.preview || state.mode === "free") {
        if (!state.preview) showThreat(null);
        return;
    }
    if (report.threat === undefined && isReported()) {
        report.threat = NO_THREAT; // until it is known
        report.threat = await post("/api/threat", { ...judged(question()), nodes: NODES }).catch(reportError);
    }
    if (shown() === report) keepPointed(() => showThreat(report.threat));
}

/** Show a threat; its place stays where there is none, and as high as it was where a move is tried. */
function showThreat(found) {
    threat.box.classList.toggle("unseen", !found?.threat);
    if (!state.preview) threat.summary.textContent = withMinus(found?.threat ?? "");
    if (!state.preview) threat.fill();
    showArrows("threat", found?.move && settings.arrows ? [{ uci: found.move, kind: "threat", share: 0.5 }] : []);
}

const entry = (title, text, more = {}) => h("div", h("dt", title), h("dd", more, text));

/** The score of the search, or the result: the one figure for the position, or for the move that is tried. */
function showSearched() {
    const report = shown();
    if (!report) return;
    const result = state.preview ? null : resultOf(report);
    const line = state.preview ? lineOf(state.preview.move) : best();
    const isComing = idleReason() === null && !report.fault && searches[0].search.isRunning;
    score.textContent = result ?? withMinus(line?.score.text ?? (isComing || best() ? "\u2026" : ""));
    score.parentElement?.classList.toggle("trying", Boolean(state.preview));
    score.hidden = !score.textContent;
    share.textContent = result || line ? percent(result ? shareOf(report) : line.score.expected_score) : "";
    share.parentElement.hidden = !share.textContent;
    if (state.preview) return; // the sentence stays, and so does all below it
    keepPointed(() => (searched.textContent = result ? "" : withMinus(line?.sentence ?? "")));
    searched.hidden = !searched.textContent && (Boolean(result) || !isComing);
}

function headline(report) {
    const tried = state.preview && state.report.moves.find((move) => move.uci === state.preview.move);
    const status = report.ending ? capital(report.ending) : `${capital(report.to_move)} to move`;
    const expects = h("div", h("dt", resultOf(report) && !tried ? "White has" : "White expects"), share);
    return h("div.score", score, h("dl", expects, tried ? entry("Tried", tried.san) : entry("Status", status)));
}

/** The evaluation before any move, or right after the move that is tried. */
function before(report) {
    const { beside, static: found } = report;
    const { summary } = state.report; // also where a move is tried: what is below stays under the pointer
    const middlegame = (found.white_middlegame + found.black_middlegame) / 2;
    const change = state.preview && ` (${pawns(report.score_cp - state.report.score_cp)})`;
    return h(
        "div.before",
        h(
            "p",
            state.preview ? "At once, by " : "Before any move, by ",
            report.without_terms ? shortName(report.evaluation) : `the terms (${shortName(report.evaluation)})`,
            ": ",
            h("b#static-score", pawns(report.score_cp)),
            change,
            beside && ["; by ", `${shortName(beside.evaluation)} `, h("span#beside-score", pawns(beside.score_cp))],
            `; middlegame ${percent(middlegame)}.`,
        ),
        h(
            "p.summary",
            summary.map((sentence) => [sentenceParts(withMinus(worded(sentence))), " "]),
        ),
    );
}

function draw() {
    const report = shown();
    if (!report) return;
    const { rule } = report.static;
    replace(
        byId("verdict"),
        headline(report),
        report.fault ? h("p.fault", `No moves: ${report.fault}.`) : null,
        rule ? h("p.fault", `Draw rule: ${rule}.`) : null,
        report.tables ? h("p#tables.summary", `${report.tables}.`) : null,
        searched,
        threat.box,
        before(report),
    );
    showSearched();
    showThreat(report.threat);
    askThreat(report);
}

export function makeVerdict() {
    listenTo(["lines", "play"], framed(showSearched)); // at once with all that shows the same
    listenTo(["report", "preview", "view"], draw);
    listenTo(["judge"], () => {
        if (state.report) state.report.threat = undefined;
        draw();
    });
}
