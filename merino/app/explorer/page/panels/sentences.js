// The sentences of the verdict: each leads to the numbers that it is made from, and each term in it to its row.

import { h } from "../base/dom.js";
import { changed, state } from "../state/store.js";
import { openTab } from "../state/tabs.js";
import { calledSo, phrases } from "./terms.js";

const POINTED_MS = 2500;

/**
 * Where the numbers of a sentence stand under Terms, by how it begins; others are about the score.
 * @type {[RegExp, string][]}
 */
const PLACES = [
    [/^Around this position/, "#words-share"],
    [/^The (net rates|terms explain)/, "#words-table [data-told='What the terms do not explain']"],
    [/^That depends most on/, "#rest-table"],
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
    showUnderTerms(`[data-term='${name}'], [data-told-term='${name}']`);
}

/** A part of a text that can be pressed; unlike a button it breaks where its line ends. */
function pressable(text, title, act) {
    const press = (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        act();
    };
    return h("span", { class: "said", role: "button", tabindex: 0, title, onclick: act, onkeydown: press }, text);
}

const placeOf = (sentence) => PLACES.find(([begins]) => begins.test(sentence))?.[1] ?? SCORE;

/** What is called so in a sentence: a term, or the material. */
function mention(text, called) {
    if (called === "material") return pressable(text, "The pieces", () => showUnderTerms("[data-group=Material]"));
    const name = calledSo(called);
    return name ? pressable(text, "Where this comes from", () => showTerm(name)) : text;
}

/** The parts of a sentence as elements. */
export function sentenceParts(sentence) {
    const called = ["material", ...phrases()].sort((a, b) => b.length - a.length).join("|");
    const parts = sentence.split(new RegExp(`\\b((?:${called})(?: \\([^)]*\\))?(?: \\d+\\.\\d\\d)?)(?![a-z])`));
    const named = new RegExp(`^(?:${called})`);
    const act = () => showUnderTerms(placeOf(sentence));
    return parts.map((part, at) => {
        if (at % 2) return mention(part, named.exec(part)?.[0]);
        return at === 0 && part ? pressable(part, "The numbers behind this", act) : part;
    });
}
