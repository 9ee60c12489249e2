// What happens on the page: errors, words that are spoken, answers out of turn, and clicks on what is drawn again.

import { byId } from "./dom.js";

let spoken;

/** Say something to those who listen rather than look. */
export function say(text) {
    clearTimeout(spoken);
    spoken = setTimeout(() => {
        byId("live").textContent = text;
    }, 30);
}

/** Show an error, or with null no longer. It moves the board, and so waits while something there is dragged. */
export function showError(text) {
    const box = byId("error");
    afterPress(byId("board"), () => {
        box.hidden = !text;
        box.firstElementChild.textContent = text ?? "";
    });
}

/**
 * What has gone wrong, in words.
 * @param {unknown} error
 */
export const wordsOf = (error) => (error instanceof Error ? error.message : String(error));

/**
 * Show what has gone wrong.
 * @param {unknown} error
 */
export const reportError = (error) => showError(wordsOf(error));

/** The same action; what goes wrong in it is shown. */
export const guarded =
    (action) =>
    (...given) =>
        action(...given).catch(reportError);

/**
 * The nearest element around what an event happened to.
 * @param {Event} event
 * @param {string} selector
 */
export const around = (event, selector) => /** @type {Element} */ (event.target).closest(selector);

/** A function that says whether what it gets is new: a click is lost on what is drawn again between press and release. */
export function changeDetector() {
    let before = "";
    return (...now) => {
        const last = before;
        before = JSON.stringify(now);
        return before !== last;
    };
}

/** A function that begins something and returns whether nothing has begun since: of several answers only the last counts. */
export function turns() {
    let last = 0;
    return () => {
        const mine = ++last;
        return () => mine === last;
    };
}

/** @type {any} */
let pressed = null; // what a pointer is down on
/** @type {(() => void)[]} */
const waiting = []; // until it is up
const release = () => {
    pressed = null;
    for (const action of waiting.splice(0)) setTimeout(action);
};
document.addEventListener("pointerdown", ({ target }) => (pressed = target), true);
for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, release, true);

/** Change a place now, or where something in it is pressed, after its click, which is lost on what is drawn again. */
export function afterPress(place, action) {
    if (place.contains(pressed)) waiting.push(action);
    else action();
}

/** Change what may move what is under the pointer: the page is scrolled by as much, so that a click hits what was aimed at. */
export function keepPointed(change) {
    const pointed = [...document.querySelectorAll(":hover")].at(-1);
    const top = () => pointed?.getBoundingClientRect().top ?? 0;
    const before = top();
    change();
    if (pointed?.isConnected) scrollBy({ top: top() - before, behavior: "instant" });
}

/** Run at most once a frame. */
export function framed(action) {
    let isAsked = false;
    return () => {
        if (isAsked) return;
        isAsked = true;
        requestAnimationFrame(() => {
            isAsked = false;
            action();
        });
    };
}
