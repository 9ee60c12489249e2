// A first visit: three examples.

import { byId, hide } from "../base/dom.js";
import { guarded } from "../base/flow.js";
import { keep, recall } from "../base/kept.js";
import { listen, watchBoard } from "../state/store.js";
import { openTab } from "../state/tabs.js";
import { enter } from "./entry.js";

let isAsLeft = watchBoard(); // whether the board is as it was when the welcome came, or as its last example
let isShowing = false;

const showExample = guarded(async ({ text, tab }) => {
    isShowing = true;
    try {
        if (text) await enter(text);
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
    byId("welcome-close").onclick = close;
    listen(() => {
        if (!byId("welcome").hidden && !isShowing && !isAsLeft()) close();
    });
}
