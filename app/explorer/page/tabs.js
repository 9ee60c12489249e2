// The tabs of the reasons. The pieces' bars have a column of their own where there is room.

import { byId, h, replace } from "./dom.js";
import { changed, state } from "./store.js";

const WIDE = matchMedia("(min-width: 140rem)");
const panels = new Map();
let chosen = "terms";
let titles = [];

const isOpen = (name) => chosen === name || (name === "pieces" && WIDE.matches);

/** The name of the tab that is open. */
export const shownTab = () => chosen;

export function openTab(name, focus = false) {
    chosen = name;
    if (name !== "terms") state.term = null;
    for (const [key, panel] of panels) panel.hidden = !isOpen(key);
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

/** Make the tabs: [name, title, make], where `make` fills the panel it is given. */
export function makeTabs(list) {
    titles = list;
    for (const [name, , make] of list) {
        const panel = h("div", {
            id: `panel-${name}`,
            class: "panel",
            role: "tabpanel",
            "aria-labelledby": `tab-${name}`,
            hidden: !isOpen(name),
        });
        panels.set(name, panel);
        byId("panels").append(panel);
        make(panel, () => isOpen(name));
    }
    const arrange = () => {
        const pieces = panels.get("pieces");
        (WIDE.matches ? byId("third") : byId("panels")).append(pieces);
        byId("third").hidden = !WIDE.matches;
        if (WIDE.matches && chosen === "pieces") chosen = "terms";
        openTab(chosen);
    };
    WIDE.addEventListener("change", arrange);
    arrange();
}
