// The weights: which are chosen, a slider for each, and the file of what was made of them.

import { get, post } from "./api.js";
import { byId, framed, h, number, openFile, replace, saveFile, say, showError, spaced } from "./dom.js";
import { learnTerms } from "./terms.js";
import { USUAL, changed, listen, refresh, state } from "./store.js";

export let catalogue = { weights: [], terms: [], values: {}, has_terms: true, about: "" };
const watchers = [];

/** Call a function when there are new weights to choose from. */
export const onCatalogue = (watcher) => watchers.push(watcher);

/** Ask for the weights there are, and the values of those chosen. */
export async function loadWeights() {
    catalogue = await get(`/api/weights?weights=${encodeURIComponent(state.weights)}`);
    learnTerms(catalogue.terms);
    watchers.forEach((watcher) => watcher());
}

/** Let another evaluation stand beside, none with null. */
async function useBeside(id) {
    state.beside = id;
    await refresh();
}

/** Use other weights from now on. */
export async function useWeights(id, changes = {}) {
    const before = [state.weights, state.changes];
    Object.assign(state, { weights: id, changes });
    try {
        await loadWeights();
        changed("weights");
        await refresh();
    } catch (error) {
        [state.weights, state.changes] = before;
        showError(error.message);
    }
}

/** A list of all evaluations to choose from, behind `others` as pairs of id and name. */
export function chooser(id, chosen, choose, others = []) {
    return h(
        "select",
        { id, onchange: (event) => choose(event.target.value) },
        others.map(([value, name]) => h("option", { value, selected: value === (chosen ?? "") }, name)),
        catalogue.weights.map((entry) => h("option", { value: entry.id, selected: entry.id === chosen }, entry.name)),
    );
}

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

const guarded = (action) => async () => {
    try {
        await action();
    } catch (error) {
        showError(error.message);
    }
};

const answer = framed(() => {
    refresh({ silent: true });
});

export function makeWeights(panel) {
    const rows = new Map();

    function set(name, value, row) {
        const usual = catalogue.values[name];
        const changes = { ...state.changes };
        if (value === usual) delete changes[name];
        else changes[name] = value;
        state.changes = changes;
        mark(name, row);
        answer();
    }

    function mark(name, row) {
        const value = state.changes[name] ?? catalogue.values[name];
        row.slider.value = row.field.value = value;
        row.slider.setAttribute("aria-valuetext", `${value} centipawns`);
        row.box.classList.toggle("moved", name in state.changes);
        row.was.textContent = name in state.changes ? `was ${number(catalogue.values[name], 0)}` : "";
        byId("weights-reset").disabled = !Object.keys(state.changes).length;
    }

    /** The sliders of a term: one, or one a phase where its weight has two values. */
    function sliders(term) {
        if (term.name in catalogue.values) return slider(term, term.name, spaced(term.name));
        return [
            ["_mg", "middlegame"],
            ["_eg", "endgame"],
        ]
            .filter(([suffix]) => term.name + suffix in catalogue.values)
            .map(([suffix, phase]) => slider(term, term.name + suffix, `${spaced(term.name)}, ${phase}`));
    }

    function slider(term, key, title) {
        const [low, high] = catalogue.bounds[key];
        const usual = catalogue.values[key];
        // A piece may weigh 3000, but nobody moves it so far; the field takes the whole range.
        const most = Math.min(high, high > 1000 ? Math.max(400, 2 * usual) : high);
        const step = Number.isInteger(usual) ? 1 : 0.1;
        const row = {};
        row.slider = h("input", {
            type: "range",
            min: low,
            max: most,
            step,
            value: usual,
            "aria-label": title,
            "data-weight": key,
            oninput: (event) => set(key, Number(event.target.value), row),
        });
        row.field = h("input", {
            type: "number",
            min: low,
            max: high,
            step,
            value: usual,
            "aria-label": `${title}, centipawns`,
            onchange: (event) => {
                const value = Number(event.target.value);
                if (event.target.value !== "" && value >= low && value <= high) {
                    set(key, value, row);
                    showError(null);
                } else {
                    showError(`${key} takes ${low} to ${high} centipawns`);
                    mark(key, row);
                }
            },
        });
        row.was = h("span", { class: "was" });
        row.box = h(
            "div",
            { class: "slider", title: term.sentence },
            h("label", {}, title),
            row.slider,
            row.field,
            row.was,
        );
        rows.set(key, row);
        return row.box;
    }

    function draw() {
        rows.clear();
        const groups = [...new Set(catalogue.terms.map((term) => term.group))];
        const save = guarded(() => saveWeights(state.weights, state.changes));
        const open = guarded(async () => {
            await useWeights(await openWeights());
        });
        replace(
            panel,
            h(
                "div",
                { class: "panel-bar" },
                h(
                    "label",
                    {},
                    "Weights ",
                    chooser("weights-chosen", state.weights, (id) => useWeights(id)),
                ),
                h("button", { type: "button", id: "weights-open", onclick: open }, "Open a file"),
                h(
                    "label",
                    {},
                    "Beside ",
                    chooser("beside-chosen", state.beside, (id) => useBeside(id || null), [
                        [USUAL, "as usual"],
                        ["", "nothing"],
                    ]),
                ),
                h(
                    "button",
                    {
                        type: "button",
                        id: "weights-reset",
                        disabled: true,
                        onclick: () => {
                            state.changes = {};
                            rows.forEach((row, name) => mark(name, row));
                            refresh();
                            say("All weights are back to their values");
                        },
                    },
                    "Reset",
                ),
                h(
                    "button",
                    { type: "button", id: "weights-save", class: "main", disabled: !catalogue.has_terms, onclick: save },
                    "Save as weights file",
                ),
            ),
            catalogue.has_terms
                ? null
                : [
                      h("p", { class: "empty" }, "A net has no weights that can be read or moved one by one."),
                      h("pre", { class: "about", id: "net-about" }, catalogue.about),
                  ],
            h(
                "div",
                { class: "slider-groups" },
                (catalogue.has_terms ? groups : []).map((group) => {
                    const mine = catalogue.terms.filter((term) => term.group === group);
                    return h(
                        "fieldset",
                        { class: "slider-group" },
                        h(
                            "legend",
                            {},
                            group,
                            mine[0]?.multiplier === 1 ? "" : h("span", {}, ` times ${mine[0]?.multiplier}`),
                        ),
                        mine.map(sliders),
                    );
                }),
            ),
            h(
                "p",
                { class: "note" },
                "Centipawns. What you move here changes the page at once, and no file until you save.",
            ),
        );
        rows.forEach((row, name) => mark(name, row));
    }
    onCatalogue(draw);
}
