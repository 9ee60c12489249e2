// A first visit: three examples, and a tour of five steps.

import { byId, guarded, hide } from "../base/dom.js";
import { keep, recall } from "../base/kept.js";
import { placeNear } from "../board/pictures.js";
import { settings, switchAnalysis } from "../state/analysis.js";
import { listen, watchBoard } from "../state/store.js";
import { openTab } from "../state/tabs.js";
import { enter } from "./entry.js";

const steps = [...document.querySelectorAll("#tour [data-at]")].map((step) => /** @type {HTMLElement} */ (step));
let at = 0; // the step of the tour
/** @type {any} */
let before = null; // what had the focus
let isAsLeft = watchBoard(); // whether the board is as it was when the welcome came, or as its last example
let isShowing = false;

const showExample = guarded(async ({ text, tab }) => {
    isShowing = true;
    try {
        await enter(text);
    } finally {
        isShowing = false;
        isAsLeft = watchBoard();
    }
    openTab(tab);
});

function close() {
    keep("visited", true);
    hide(byId("welcome"));
}

/** Show the examples; the page does so by itself on a first visit. */
export function welcome() {
    byId("welcome").hidden = false;
    isAsLeft = watchBoard();
}

export const isFirstVisit = () => !recall("visited", false);

/** Those who put something of their own on the board need no examples any longer. */
export function makeWelcome() {
    for (const example of byId("welcome").querySelectorAll(".example"))
        example.onclick = () => showExample(example.dataset);
    byId("tour-start").onclick = startTour;
    byId("welcome-close").onclick = close;
    byId("tour").onkeydown = (event) => {
        if (event.key === "Escape") endTour();
        if (event.key === "ArrowRight") showStep(Math.min(at + 1, steps.length - 1));
        if (event.key === "ArrowLeft") showStep(Math.max(at - 1, 0));
        event.stopPropagation();
    };
    byId("tour-back").onclick = () => showStep(at - 1);
    byId("tour-next").onclick = () => (at === steps.length - 1 ? endTour() : showStep(at + 1));
    byId("tour-end").onclick = endTour;
    listen(() => {
        if (!byId("welcome").hidden && !isShowing && !isAsLeft()) close();
    });
}

function startTour() {
    before = document.activeElement;
    if (!settings.isOn) switchAnalysis();
    byId("tour").hidden = false;
    showStep(0);
}

function endTour() {
    mark(null);
    byId("tour").hidden = true;
    before?.focus();
    close();
}

function mark(element) {
    document.querySelector(".toured")?.classList.remove("toured");
    element?.classList.add("toured");
}

function showStep(step) {
    at = step;
    const { title, dataset } = steps[step];
    const target = document.querySelector(dataset.at ?? "") ?? document.body;
    const isLast = step === steps.length - 1;
    steps.forEach((each, index) => each.toggleAttribute("hidden", index !== step));
    byId("tour-title").textContent = title;
    byId("tour-place").textContent = `${step + 1} of ${steps.length}`;
    byId("tour-back").disabled = step === 0;
    byId("tour-next").textContent = isLast ? "Done" : "Next";
    byId("tour-end").hidden = isLast;
    target.scrollIntoView({ block: "nearest", behavior: "instant" });
    mark(target);
    placeNear(byId("tour"), target);
    byId("tour-next").focus();
}
