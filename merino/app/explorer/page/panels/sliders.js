// A slider and a field for each weight, in groups, with both phases of a term side by side; and a search for terms.

import { byId, framed, h, number, showError, spaced } from "../base/dom.js";
import { listenTo, refresh, state } from "../state/store.js";

const PHASES = [
    ["_mg", "middlegame"],
    ["_eg", "endgame"],
];
const MAX_SLID = 1000; // centipawns; a piece may weigh more, but nobody moves it so far
const rows = new Map(); // by weight: { slider, field, was, box }
/** @type {any} */
let catalogue = null; // what the server tells of the weights
let wanted = ""; // what is searched for

const answer = framed(() => {
    refresh({ silent: true });
});

function set(name, value) {
    const { [name]: _, ...others } = state.changes;
    state.changes = value === catalogue.values[name] ? others : { ...others, [name]: value };
    mark(name);
    answer();
}

/** Show the value of a weight, and what it was. */
function mark(name) {
    const row = rows.get(name),
        isMoved = name in state.changes,
        value = state.changes[name] ?? catalogue.values[name];
    byId("weights-reset").disabled = !Object.keys(state.changes).length;
    if (!row) return; // of a table that nobody has opened
    row.slider.value = row.field.value = value;
    row.slider.setAttribute("aria-valuetext", `${value} centipawns`);
    row.box.classList.toggle("moved", isMoved);
    row.was.textContent = isMoved ? `was ${number(catalogue.values[name], 0)}` : "";
}

export const markAll = () => rows.forEach((_, name) => mark(name));

function takeTyped(event, name, [low, high]) {
    const value = Number(event.target.value);
    if (event.target.value !== "" && value >= low && value <= high) {
        set(name, value);
        showError(null);
        return;
    }
    showError(`${name} takes ${low} to ${high} centipawns`);
    mark(name);
}

/** The slider of a weight, called `title` to those who listen and `label` to those who look. */
function slider(name, title, label) {
    const bounds = catalogue.bounds[name],
        usual = catalogue.values[name];
    const most = Math.min(bounds[1], bounds[1] > MAX_SLID ? Math.max(400, 2 * usual) : bounds[1]);
    const common = { min: bounds[0], step: Number.isInteger(usual) ? 1 : 0.1, value: usual };
    const row = {
        slider: h("input", {
            ...common,
            type: "range",
            max: most,
            "aria-label": title,
            "data-weight": name,
            oninput: (event) => set(name, Number(event.target.value)),
        }),
        field: h("input", {
            ...common,
            type: "number",
            max: bounds[1],
            "aria-label": `${title}, centipawns`,
            onchange: (event) => takeTyped(event, name, bounds),
        }),
        was: h("span", { class: "was" }),
    };
    row.box = h("div", { class: "slider" }, h("span", { class: "phase" }, label), row.slider, row.field, row.was);
    rows.set(name, row);
    return row.box;
}

/** What a term adds to the score of the position on the board, in words. */
function effectOf(term) {
    const found = state.report?.terms.find((each) => each.name === term.name);
    return found ? `${number(found.net_cp, 1, true)} here` : "";
}

/** The sliders of a weight: one, or one for each phase. */
function slidersOf(name, title) {
    const phases = PHASES.filter(([suffix]) => name + suffix in catalogue.values);
    return phases.length
        ? phases.map(([suffix, phase]) => slider(name + suffix, `${title}, ${phase}`, phase))
        : [slider(name, title, "")];
}

/** The weights of a table, made when it is opened: a full set has hundreds. */
function cellsOf(term) {
    const box = h("details", { class: "cells" }, h("summary", {}, `${term.cells.length} weights`));
    const fill = () => {
        if (!box.open || box.childElementCount > 1) return;
        for (const name of term.cells) {
            const cell = name.slice(term.name.length + 1).replaceAll("_", " ");
            const sliders = slidersOf(name, `${spaced(term.name)} ${cell}`);
            box.append(h("div", { class: "cell" }, h("span", {}, cell), sliders));
        }
        markAll();
    };
    box.addEventListener("toggle", fill);
    return box;
}

function termBox(term) {
    const title = spaced(term.name);
    const sliders = term.cells.length ? cellsOf(term) : slidersOf(term.name, title);
    return h(
        "div",
        { class: "term-weights", "data-term-weights": term.name, title: term.sentence },
        h("div", { class: "term-title" }, h("b", {}, title), h("span", { class: "effect" }, effectOf(term))),
        h("div", { class: "term-sliders" }, sliders),
    );
}

function groupBox(group) {
    const terms = catalogue.terms.filter((term) => term.group === group);
    const times = terms[0]?.multiplier === 1 ? "" : h("span", {}, ` times ${terms[0]?.multiplier}`);
    return h("fieldset", { class: "slider-group" }, h("legend", {}, group, times), terms.map(termBox));
}

/** Hide the terms whose name, group and sentence have not all words that are searched for. */
function filter() {
    const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    for (const term of catalogue.terms) {
        const text = `${spaced(term.name)} ${term.name} ${term.group} ${term.sentence}`.toLowerCase();
        const box = document.querySelector(`[data-term-weights="${term.name}"]`);
        box?.toggleAttribute("hidden", !words.every((word) => text.includes(word)));
    }
    for (const group of document.querySelectorAll(".slider-group"))
        group.toggleAttribute("hidden", !group.querySelector(".term-weights:not([hidden])"));
}

function searchField() {
    const field = h("input", {
        type: "search",
        id: "weight-search",
        placeholder: "Search terms",
        "aria-label": "Search terms",
    });
    field.value = wanted;
    field.addEventListener("input", () => {
        wanted = field.value;
        filter();
    });
    return field;
}

/** The sliders of these weights, as the server tells of them. */
export function makeSliders(told) {
    catalogue = told;
    rows.clear();
    if (!told.has_terms) return [];
    const groups = [...new Set(told.terms.map((term) => term.group))];
    requestAnimationFrame(filter);
    return [searchField(), h("div", { class: "slider-groups" }, groups.map(groupBox))];
}

/** Keep beside each term what it adds to the position on the board. */
export function followReport() {
    listenTo(["report"], () => {
        for (const term of catalogue?.terms ?? []) {
            const place = document.querySelector(`[data-term-weights="${term.name}"] .effect`);
            if (place) place.textContent = effectOf(term);
        }
    });
}
