// The verdict: the score in a line, the sentences on it, what the search adds, and the threat. Sentences lead to the
// numbers that they are made from: to their place under Terms, each term in them to its row; others unfold the search
// that proves them.

import { byId, h, note, replace } from "../base/dom.js";
import { capital, pawns, percent, shortName, thousands, withMinus, worded } from "../base/words.js";
import { post } from "../base/server.js";
import { showArrows } from "../board/board.js";
import { phrases, calledSo } from "./terms.js";
import { best, settings } from "../state/analysis.js";
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

/** What proves claims: the scores of the two searches. */
export function proofs(claims) {
    return claims.map(({ text, proof }) => {
        const scores = `${proof.score_before.text} before, ${proof.score_after.text} at the end of the line`;
        return note(withMinus(`${text}: ${scores}, by ${proof.judge}, ${thousands(proof.nodes)} nodes each.`));
    });
}

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
const CLEAR_GAP = 0.1; // of the points, between a search and the evaluation by itself
const NO_THREAT = { threat: null, move: null, score: null, depth: null };

const searched = h("p#searched.summary");
const threat = unfolding("#threat", {}, () => {
    const { score, depth } = shown()?.threat ?? NO_THREAT;
    const how = `${score} for White at depth ${depth}, ${thousands(NODES)} nodes`;
    return note(withMinus(`Searched as if it were the other side's turn: ${how}.`));
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

const entry = (title, text, more = {}) => h("div", h("dt", title), h("dd", more, text));

/** Whose turn it is, or how the game has ended; where a move is tried, what it changes. */
function status(report) {
    if (state.preview) {
        const tried = state.report.moves.find((move) => move.uci === state.preview.move);
        return entry(`by ${tried?.san}`, pawns(report.score_cp - state.report.score_cp));
    }
    return entry("Status", report.ending ? capital(report.ending) : `${capital(report.to_move)} to move`);
}

function scoreLine(report) {
    const { beside } = report;
    const result = state.preview ? null : resultOf(report);
    const middlegame = (report.static.white_middlegame + report.static.black_middlegame) / 2;
    return h(
        `div.score${state.preview ? ".trying" : ""}`,
        h("output#score", { "aria-live": "off" }, result ?? pawns(report.score_cp)),
        h(
            "dl",
            entry(result ? "White has" : "White expects", percent(shareOf(report), 1), { id: "expected-score" }),
            status(report),
            entry("Middlegame", percent(middlegame)),
            beside && entry(`Score by ${shortName(beside.evaluation)}`, pawns(beside.score_cp), { id: "beside-score" }),
        ),
    );
}

/** Say what the search finds, where that is something else: a score by itself does not see what is about to be taken. */
function showSearched() {
    const [line, report] = [best(), state.report];
    const differs = line && report && !state.preview && !report.ending;
    const gap = differs ? Math.abs(line.score.expected_score - report.static.expected_score) : 0;
    searched.hidden = gap < CLEAR_GAP;
    if (searched.hidden) return;
    const found = `${line.score.text} (${percent(line.score.expected_score)}) at depth ${line.depth}, by ${line.names[0]}`;
    searched.textContent = withMinus(`The search sees more than stands on the board: ${found}.`);
}

function draw() {
    const report = shown();
    if (!report) return;
    const { fault, summary } = report;
    const { rule } = report.static;
    replace(
        byId("verdict"),
        scoreLine(report),
        fault ? h("p.fault", `No moves: ${fault}.`) : null,
        rule ? h("p.fault", `Draw rule: ${rule}.`) : null,
        h(
            "p.summary",
            summary.map((sentence) => [sentenceParts(withMinus(worded(sentence))), " "]),
        ),
        searched,
        threat.box,
    );
    showThreat(report.threat);
    askThreat(report);
}

export function makeVerdict() {
    listenTo(["lines", "report", "preview"], showSearched);
    listenTo(["report", "preview", "view"], draw);
}
