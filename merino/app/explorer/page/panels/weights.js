// The weights: which are chosen, a slider and a field for each, in groups, and the file of what was made of them.

import { byId, details, h, note, options, replace } from "../base/dom.js";
import { framed, guarded, reportError, say, showError, turns } from "../base/flow.js";
import { number, spaced } from "../base/words.js";
import { base64, chooseFiles, saveFile } from "../base/files.js";
import { get, post } from "../base/server.js";
import { USUAL, changed, listenTo, refresh, state } from "../state/store.js";
import { learnTerms } from "./terms.js";

const MAX_SLID = 1000; // centipawns; a piece may weigh more, but nobody moves it so far
const PHASES = [
    ["_mg", "middlegame"],
    ["_eg", "endgame"],
];
const OTHERS = [
    [USUAL, "as usual"],
    ["", "nothing"],
];
const NOTE = "Centipawns. What you move here changes the page at once, and no file until you save.";

export let catalogue = /** @type {any} */ ({
    weights: [],
    terms: [],
    values: {},
    has_terms: true,
    about: "",
    judges: [],
    engines: [],
});
const watchers = [];
const rows = new Map(); // by weight: { slider, field, was, box }
/** @type {any} */
let before = null; // the weights until those chosen are loaded; null while none are

/** Call a function when there are new weights to choose from. */
export const onCatalogue = (watcher) => watchers.push(watcher);

const callWatchers = () => watchers.forEach((watcher) => watcher());
const beginLoading = turns();
const beginChoice = turns();

/** The weights there are, and the values of those chosen; null where the same has been asked for since. */
async function ask() {
    const isLast = beginLoading();
    const found = await get(`/api/weights?weights=${encodeURIComponent(state.weights)}`);
    return isLast() ? found : null;
}

function take(found) {
    catalogue = found;
    learnTerms(catalogue.terms);
    callWatchers();
}

/** Ask for the weights there are, and the values of those chosen; only the last answer asked for counts. */
export async function loadWeights() {
    const found = await ask();
    if (found) take(found);
}

/** The same where their files may have been changed: then what was answered with those before is asked again. */
export async function loadChangedWeights() {
    const found = await ask();
    if (!found || JSON.stringify(found) === JSON.stringify(catalogue)) return;
    take(found);
    state.edition += 1;
    await refresh({ silent: true });
}

/** Use other weights from now on; those before where they cannot be had. */
export async function useWeights(id) {
    const isLast = beginChoice();
    before ??= { weights: state.weights, changes: state.changes };
    Object.assign(state, { weights: id, changes: {} });
    try {
        await loadWeights();
    } catch (error) {
        if (!isLast()) return;
        Object.assign(state, before);
        before = null;
        callWatchers();
        reportError(error);
        return;
    }
    if (!isLast()) return; // others have been chosen since
    before = null;
    changed("weights");
    await refresh();
}

/** All evaluations to choose from, as pairs of id and name. */
export const evaluations = () => catalogue.weights.map((entry) => [entry.id, entry.name]);

/** Open a weights file or a net of the user's; its id. */
export async function openWeights() {
    const [file] = await chooseFiles(".txt,.net,.bin,text/plain");
    const { id } = await post("/api/weights", { name: file.name, content: await base64(file) });
    await loadWeights();
    return id;
}

export async function saveWeights(weights, changes) {
    const { text } = await post("/api/weights/text", { weights, changes });
    await saveFile("weights.txt", text, "text/plain");
}

const answer = framed(() => refresh({ silent: true }));

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
    row.was.textContent = isMoved ? `was ${number(catalogue.values[name])}` : "";
}

const markAll = () => rows.forEach((_, name) => mark(name));

function takeTyped({ target }, name, [low, high]) {
    const value = Number(target.value);
    const isRight = target.value !== "" && value >= low && value <= high;
    showError(isRight ? null : `${name} takes ${low} to ${high} centipawns`);
    if (isRight) set(name, value);
    else mark(name);
}

/** The slider of a weight, called `title` to those who listen and `label` to those who look. */
function slider(name, title, label) {
    const bounds = catalogue.bounds[name],
        usual = catalogue.values[name];
    const [min, high] = bounds;
    const max = high > MAX_SLID ? Math.min(high, Math.max(400, 2 * usual)) : high;
    const common = { min, step: Number.isInteger(usual) ? 1 : 0.1, value: usual };
    const slide = (event) => set(name, Number(event.target.value));
    const sliding = { ...common, type: "range", max, "aria-label": title, "data-weight": name, oninput: slide };
    const type = (event) => takeTyped(event, name, bounds);
    const typing = { ...common, type: "number", max: high, "aria-label": `${title}, centipawns`, onchange: type };
    const row = { slider: h("input", sliding), field: h("input", typing), was: h("span.was") };
    const box = h("div.slider", h("span.note.phase", label), row.slider, row.field, row.was);
    rows.set(name, { ...row, box });
    return box;
}

/** What a term adds to the score of the position on the board, in words. */
function effectOf(term) {
    const found = state.report?.terms.find((each) => each.name === term.name);
    return found ? `${number(found.net_cp, 1, true)} here` : "";
}

/** The sliders of a weight: one, or one for each phase. */
function slidersOf(name, title) {
    const phases = PHASES.filter(([suffix]) => name + suffix in catalogue.values);
    if (!phases.length) return [slider(name, title, "")];
    return phases.map(([suffix, phase]) => slider(name + suffix, `${title}, ${phase}`, phase));
}

/** The weights of a table, made when it is opened: a full set has hundreds. */
function cellsOf(term) {
    const box = details(".cells", {}, `${term.cells.length} weights`);
    box.addEventListener("toggle", () => {
        if (!box.open || box.childElementCount > 1) return;
        for (const name of term.cells) {
            const cell = name.slice(term.name.length + 1).replaceAll("_", " ");
            box.append(h("div.cell", h("span", cell), slidersOf(name, `${spaced(term.name)} ${cell}`)));
        }
        markAll();
    });
    return box;
}

function termBox(term) {
    const title = spaced(term.name);
    return h(
        "div.term-weights",
        { "data-term-weights": term.name, title: term.sentence },
        h("div.term-title", h("span", title), h("span.faint.effect", effectOf(term))),
        h("div.term-sliders", term.cells.length ? cellsOf(term) : slidersOf(term.name, title)),
    );
}

function groupBox([group, terms]) {
    const [{ multiplier }] = terms;
    const times = multiplier === 1 ? "" : h("span.note", ` times ${multiplier}`);
    return h("fieldset.slider-group", h("legend", group, times), terms.map(termBox));
}

const boxOf = (term) => document.querySelector(`[data-term-weights="${term.name}"]`);

/** Hide the terms whose name, group and sentence have not all words that are searched for. */
function filter() {
    const words = byId("weight-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const term of catalogue.terms) {
        const text = `${spaced(term.name)} ${term.name} ${term.group} ${term.sentence}`.toLowerCase();
        boxOf(term)?.toggleAttribute("hidden", !words.every((word) => text.includes(word)));
    }
    for (const group of document.querySelectorAll(".slider-group"))
        group.toggleAttribute("hidden", !group.querySelector(".term-weights:not([hidden])"));
}

function sliders() {
    rows.clear();
    const groups = Map.groupBy(catalogue.terms, (term) => term.group);
    requestAnimationFrame(filter);
    return [[...groups].map(groupBox), note(NOTE)];
}

function reset() {
    state.changes = {};
    markAll();
    refresh();
    say("All weights are back to their values");
}

const aboutNet = () => [
    h("p.empty", "A net has no weights that can be read or moved one by one."),
    details("", {}, "What it is made of, and how it was trained", h("pre#net-about.about", catalogue.about)),
];

export function makeWeights() {
    byId("weights-open").onclick = guarded(async () => useWeights(await openWeights()));
    byId("weights-save").onclick = guarded(() => saveWeights(state.weights, state.changes));
    byId("weights-reset").onclick = reset;
    byId("weight-search").oninput = filter;
    byId("weights-chosen").onchange = (event) => useWeights(event.target.value);
    byId("beside-chosen").onchange = (event) => {
        state.beside = event.target.value || null;
        refresh();
    };
    onCatalogue(() => {
        byId("weights-chosen").replaceChildren(...options(evaluations(), state.weights));
        byId("beside-chosen").replaceChildren(...options([...OTHERS, ...evaluations()], state.beside ?? ""));
        byId("weights-save").disabled = byId("weight-search").hidden = !catalogue.has_terms;
        replace(byId("weights-sliders"), catalogue.has_terms ? sliders() : aboutNet());
        markAll();
    });
    listenTo(["report"], () => {
        for (const term of catalogue.terms) {
            const place = boxOf(term)?.querySelector(".effect");
            if (place) place.textContent = effectOf(term);
        }
    });
}
