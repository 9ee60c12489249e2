// A first visit: three examples, and a tour of five steps.

import { keep, recall } from "../base/browser_storage.js";
import { button, byId, guarded, h, panelBar, replace } from "../base/dom.js";
import { hide } from "../base/focus.js";
import { settings, switchAnalysis } from "../state/analysis.js";
import { listen, watchBoard } from "../state/store.js";
import { openTab } from "../state/tabs.js";
import { enter } from "./entry.js";

const EXAMPLES = [
    [
        "A middlegame",
        "What is each piece worth, and what does Black threaten?",
        "r2q1rk1/pp2bpp1/2n1pn1p/8/3P2b1/P1NB1N2/1P3PPP/R1BQR1K1 w - - 0 13",
        "terms",
    ],
    [
        "A game with mistakes",
        "Where was it lost? Its graph shows the chances, and marks what lost them.",
        '[White "Anna"]\n[Black "Bert"]\n[Result "0-1"]\n\n' +
            "1. e4 e5 2. Nf3 Nc6 3. Bc4 Nd4 4. Nxe5 Qg5 5. Nxf7 Qxg2 6. Rf1 Qxe4+ 7. Be2 Nf3# 0-1",
        "games",
    ],
    [
        "An endgame",
        "White wins, but not with a queen: let the search find out.",
        "8/8/1KP5/3r4/8/8/8/k7 w - - 0 1",
        "moves",
    ],
];
const STEPS = [
    ["#entry-text", "Paste anything", "A move, a FEN, a game as PGN, or moves such as 1. e4 e5."],
    [
        "#board",
        "Values on the board",
        "Each piece shows what it is worth. Drag one and hold it: you see what would change.",
    ],
    [
        "#analysis",
        "Analysis",
        "The best lines while you look, and what each leads to. Point at a move; click to play it.",
    ],
    ["#tabs", "Reasons", "Terms add up to the score. Moves ranks every move; Compare sets evaluations side by side."],
    ["#tab-games", "Your games", "Open a PGN of any size, and see where chances were lost. Teach learns from it."],
];

let at = 0; // the step of the tour
/** @type {any} */
let box = null; // that of the tour
/** @type {any} */
let before = null; // what had the focus
let isAsLeft = watchBoard(); // whether the board is as it was when the welcome came, or as its last example
let isShowing = false;

const showExample = guarded(async ([, , text, tab]) => {
    isShowing = true;
    try {
        await enter(text);
    } finally {
        isShowing = false;
        isAsLeft = watchBoard();
    }
    openTab(tab);
});

function example(each) {
    const [title, what] = each;
    return h(
        "button",
        { type: "button", class: "example", onclick: () => showExample(each) },
        h("b", {}, title),
        h("span", {}, what),
    );
}

function close() {
    keep("visited", true);
    hide(byId("welcome"));
}

/** Show the examples; the page does so by itself on a first visit. */
export function welcome() {
    replace(
        byId("welcome"),
        h("h2", {}, "Welcome to Merino's explorer"),
        h("div", { class: "examples" }, EXAMPLES.map(example)),
        panelBar(
            button("tour-start", "Take the tour", startTour, { class: "main" }),
            button("welcome-close", "Close", close),
        ),
    );
    byId("welcome").hidden = false;
    isAsLeft = watchBoard();
}

/** Those who put something of their own on the board need no examples any longer. */
export function makeWelcome() {
    listen(() => {
        if (!byId("welcome").hidden && !isShowing && !isAsLeft()) close();
    });
}

export const isFirstVisit = () => !recall("visited", false);

function startTour() {
    before = document.activeElement;
    if (!settings.isOn) switchAnalysis();
    box ??= document.body.appendChild(h("div", { id: "tour", class: "tour", role: "dialog", "aria-live": "polite" }));
    box.onkeydown = (event) => {
        if (event.key === "Escape") endTour();
        if (event.key === "ArrowRight" && at < STEPS.length - 1) showStep(at + 1);
        if (event.key === "ArrowLeft" && at > 0) showStep(at - 1);
        event.stopPropagation();
    };
    box.hidden = false;
    showStep(0);
}

function endTour() {
    mark(null);
    box.hidden = true;
    before?.focus();
    close();
}

function mark(element) {
    for (const each of document.querySelectorAll(".toured")) each.classList.remove("toured");
    element?.classList.add("toured");
}

function showStep(step) {
    at = step;
    const [selector, title, text] = STEPS[step];
    const target = document.querySelector(selector) ?? document.body;
    const isLast = step === STEPS.length - 1;
    const go = isLast ? endTour : () => showStep(step + 1);
    const next = button("tour-next", isLast ? "Done" : "Next", go, { class: "main" });
    const back = { type: "button", disabled: step === 0, onclick: () => showStep(step - 1) };
    replace(
        box,
        h("h2", { id: "tour-title" }, title),
        h("p", {}, text),
        panelBar(
            h("span", { class: "note" }, `${step + 1} of ${STEPS.length}`),
            h("button", back, "Back"),
            next,
            isLast ? null : button("tour-end", "End", endTour, { class: "quiet" }),
        ),
    );
    box.setAttribute("aria-labelledby", "tour-title");
    target.scrollIntoView({ block: "nearest", behavior: "instant" });
    mark(target);
    placeBeside(target);
    next.focus();
}

/** Put the box below its target, or above where there is no room, inside the window. */
function placeBeside(target) {
    const around = target.getBoundingClientRect(),
        own = box.getBoundingClientRect();
    const below = around.bottom + 10;
    const top = below + own.height < innerHeight ? below : Math.max(8, around.top - own.height - 10);
    box.style.top = `${Math.min(top, innerHeight - own.height - 8)}px`;
    box.style.left = `${Math.max(8, Math.min(around.left, innerWidth - own.width - 8))}px`;
}
