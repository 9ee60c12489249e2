// The weights: which are chosen, a slider for each, and the file of what was made of them.

import { get, post } from "../base/api.js";
import { button, guarded, h, openFile, panelBar, replace, saveFile, say, selectField, tellError } from "../base/dom.js";
import { USUAL, changed, refresh, state } from "../state/store.js";
import { followReport, makeSliders, markAll } from "./sliders.js";
import { learnTerms } from "./terms.js";

export let catalogue = /** @type {any} */ ({ weights: [], terms: [], values: {}, has_terms: true, about: "" });
const watchers = [];

/** Call a function when there are new weights to choose from. */
export const onCatalogue = (watcher) => watchers.push(watcher);

const tellWatchers = () => watchers.forEach((watcher) => watcher());

let asked = 0; // for the weights there are
let chosen = 0; // how often weights were
/** @type {any} */
let before = null; // the weights until those chosen are loaded; null while none are

/** The weights there are, and the values of those chosen; null where the same has been asked for since. */
async function ask() {
    const number = ++asked;
    const found = await get(`/api/weights?weights=${encodeURIComponent(state.weights)}`);
    return number === asked ? found : null;
}

function take(found) {
    catalogue = found;
    learnTerms(catalogue.terms);
    tellWatchers();
}

/** Ask for the weights there are, and the values of those chosen; only the last answer asked for counts. */
export async function loadWeights() {
    const found = await ask();
    if (found) take(found);
}

/** The same where their files may have been changed: then what was answered with those before is asked anew. */
export async function loadChangedWeights() {
    const found = await ask();
    if (!found || JSON.stringify(found) === JSON.stringify(catalogue)) return;
    take(found);
    state.edition += 1;
    await refresh({ silent: true });
}

/** Let another evaluation stand beside, none with null. */
async function useBeside(id) {
    state.beside = id;
    await refresh();
}

/** Use other weights from now on; those before where they cannot be had. */
export async function useWeights(id) {
    const number = ++chosen;
    before ??= { weights: state.weights, changes: state.changes };
    Object.assign(state, { weights: id, changes: {} });
    try {
        await loadWeights();
    } catch (error) {
        if (number === chosen) goBack(error);
        return;
    }
    if (number !== chosen) return; // others have been chosen since
    before = null;
    changed("weights");
    await refresh();
}

function goBack(error) {
    Object.assign(state, before);
    before = null;
    tellWatchers();
    tellError(error);
}

/** All evaluations to choose from, as pairs of id and name. */
export const evaluations = () => catalogue.weights.map((entry) => [entry.id, entry.name]);

/** A field to choose one of them, or of `others` before them. */
export const chooser = (id, label, chosen, choose, others = []) =>
    selectField(id, label, [...others, ...evaluations()], chosen ?? "", choose);

/** Open a weights file or a net of the user's; its id. */
export async function openWeights() {
    const { name, content } = await openFile(".txt,.net,.bin,text/plain", true);
    const entry = await post("/api/weights", { name, content });
    await loadWeights();
    return entry.id;
}

export async function saveWeights(weights, changes) {
    const { text } = await post("/api/weights/text", { weights, changes });
    await saveFile("weights.txt", text, "text/plain");
}

function reset() {
    state.changes = {};
    markAll();
    refresh();
    say("All weights are back to their values");
}

const OTHERS = [
    [USUAL, "as usual"],
    ["", "nothing"],
];

function bar() {
    const save = guarded(() => saveWeights(state.weights, state.changes));
    const open = guarded(async () => useWeights(await openWeights()));
    const saving = { class: "main", disabled: !catalogue.has_terms };
    return panelBar(
        chooser("weights-chosen", "Weights", state.weights, useWeights),
        button("weights-open", "Open a file", open),
        chooser("beside-chosen", "Beside", state.beside, (id) => useBeside(id || null), OTHERS),
        button("weights-reset", "Reset", reset, { disabled: true }),
        button("weights-save", "Save as weights file", save, saving),
    );
}

function aboutNet() {
    if (catalogue.has_terms) return null;
    return [
        h("p", { class: "empty" }, "A net has no weights that can be read or moved one by one."),
        h(
            "details",
            {},
            h("summary", {}, "What it is made of, and how it was trained"),
            h("pre", { class: "about", id: "net-about" }, catalogue.about),
        ),
    ];
}

export function makeWeights(panel) {
    const note = "Centipawns. What you move here changes the page at once, and no file until you save.";
    onCatalogue(() => {
        const sliders = catalogue.has_terms ? [makeSliders(catalogue), h("p", { class: "note" }, note)] : aboutNet();
        replace(panel, bar(), sliders);
        markAll();
    });
    followReport();
}
