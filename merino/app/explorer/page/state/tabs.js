// The tabs of the reasons. The pieces' bars have a column of their own where there is room.

import { byId, h, replace, tellError } from "../base/dom.js";
import { changed, state } from "./store.js";

const WIDE = matchMedia("(min-width: 140rem)");
const panels = new Map();
const unmade = new Map(); // loaders of panels that nobody has opened yet
let chosen = "terms";
/** @type {any} */
let titles = [];

const isOpen = (name) => chosen === name || (name === "pieces" && WIDE.matches);

/** The name of the tab that is open. */
export const shownTab = () => chosen;

export function openTab(name, focus = false) {
    chosen = name;
    if (name !== "terms") state.term = null;
    for (const [key, panel] of panels) panel.hidden = !isOpen(key);
    makeNow(name);
    draw();
    if (focus) byId(`tab-${name}`).focus();
    changed("tab");
}

function draw() {
    const seen = titles.filter(([name]) => !(name === "pieces" && WIDE.matches));
    const move = (event) => {
        const at = seen.findIndex(([name]) => name === chosen);
        const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: seen.length - 1 }[event.key];
        if (next === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        openTab(seen[(next + seen.length) % seen.length][0], true);
    };
    replace(
        byId("tabs"),
        seen.map(([name, title]) =>
            h(
                "button",
                {
                    type: "button",
                    role: "tab",
                    id: `tab-${name}`,
                    "aria-controls": `panel-${name}`,
                    "aria-selected": String(name === chosen),
                    tabindex: name === chosen ? 0 : -1,
                    onclick: () => openTab(name),
                    onkeydown: move,
                },
                title,
            ),
        ),
    );
    byId(`tab-${chosen}`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** Load and fill a panel that is opened for the first time. */
async function makeNow(name) {
    const load = unmade.get(name);
    if (!load) return;
    unmade.delete(name);
    try {
        (await load())(panels.get(name), () => isOpen(name));
        changed("tab");
    } catch (error) {
        unmade.set(name, load);
        tellError(error);
    }
}

/**
 * Make the tabs: [name, title, make, load], where `make` fills the panel it is given. Those that few visits need have
 * none: `load` gets it from their module when they are opened.
 */
export function makeTabs(list) {
    titles = list;
    for (const [name, title, make, load] of list) {
        const panel = h("div", {
            id: `panel-${name}`,
            class: "panel",
            role: "tabpanel",
            "aria-label": title,
            hidden: !isOpen(name),
        });
        panels.set(name, panel);
        byId("panels").append(panel);
        if (make) make(panel, () => isOpen(name));
        else unmade.set(name, load);
    }
    const arrange = () => {
        const pieces = panels.get("pieces");
        (WIDE.matches ? byId("third") : byId("panels")).append(pieces);
        pieces.setAttribute("role", WIDE.matches ? "group" : "tabpanel"); // beside them there is no tab of theirs
        byId("third").hidden = !WIDE.matches;
        if (WIDE.matches && chosen === "pieces") chosen = "terms";
        openTab(chosen);
    };
    WIDE.addEventListener("change", arrange);
    arrange();
}
