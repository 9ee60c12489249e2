// The tabs of the reasons.

import { byId, keepFocus, placeByKey } from "../base/dom.js";
import { reportError } from "../base/flow.js";
import { changed, state } from "./store.js";

const unmade = new Map(); // what loads a panel that nobody has opened yet, null while it is loaded
let chosen = "terms";

const isOpen = (name) => chosen === name;
const panelOf = (name) => byId(`panel-${name}`);
const tabs = () => /** @type {any[]} */ ([...byId("tabs").children]);
const nameOf = (tab) => tab.id.slice("tab-".length);

/** The name of the tab that is open. */
export const shownTab = () => chosen;

export function openTab(name, focus = false) {
    chosen = name;
    if (name !== "terms") state.term = null;
    keepFocus(byId("tabs"), draw);
    makeNow(name);
    if (focus) byId(`tab-${name}`).focus();
    changed("tab");
}

function draw() {
    for (const tab of tabs()) {
        const name = nameOf(tab);
        panelOf(name).hidden = !isOpen(name) || unmade.has(name);
        tab.tabIndex = name === chosen ? 0 : -1;
        tab.setAttribute("aria-selected", String(name === chosen));
    }
    byId(`tab-${chosen}`).scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** Load and fill a panel that is opened for the first time. */
async function makeNow(name) {
    const load = unmade.get(name);
    if (!load) return;
    unmade.set(name, null);
    try {
        (await load())(panelOf(name), () => isOpen(name));
        unmade.delete(name);
        draw();
        changed("tab");
    } catch (error) {
        unmade.set(name, load);
        reportError(error);
    }
}

/** Make the tabs: `made` fill the panels of their names now, `later` get what fills them when they are opened. */
export function makeTabs(made, later) {
    for (const [name, make] of Object.entries(made)) make(panelOf(name), () => isOpen(name));
    for (const [name, load] of Object.entries(later)) unmade.set(name, load);
    byId("tabs").onkeydown = (event) => {
        const all = tabs(),
            next = placeByKey(event, all.indexOf(event.target), all.length);
        if (next !== undefined) openTab(nameOf(all[next]), true);
    };
    for (const tab of tabs()) tab.onclick = () => openTab(nameOf(tab));
    openTab(chosen);
}
