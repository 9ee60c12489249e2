// The settings of learning on the page, as `merino learn` has them.

import { byId, h, showError } from "./dom.js";

const settings = {
    first: 6,
    target: "result", // or "search", or "blend", with the share of the result in `blend`
    blend: 0.5,
    phases: null, // values a weight has, 1 or 2; null for as many as at the start
    rescore: null, // nodes of the search that scores each position; null for the scores in the games
    perGame: null, // positions used of each game; null for all
};

/** The settings as the server takes them. */
export const chosenSettings = () => ({
    first: settings.first,
    target: settings.target === "blend" ? `blend=${settings.blend}` : settings.target,
    phases: settings.phases,
    per_game: settings.perGame,
    rescore: settings.target === "result" ? null : settings.rescore,
});

/** A field for a whole number, empty for none. */
function countField(id, label, value, most, title, set) {
    return h(
        "label",
        { title },
        `${label} `,
        h("input", {
            id,
            type: "number",
            min: 1,
            max: most,
            step: 1,
            value: value ?? "",
            placeholder: "all",
            onchange: (event) => {
                const text = event.target.value;
                const number = Number(text);
                if (text !== "" && !(Number.isInteger(number) && number >= 1 && number <= most)) {
                    showError(`${label} takes a whole number from 1 to ${most}, or nothing`);
                    event.target.value = value ?? "";
                    return;
                }
                showError(null);
                set(text === "" ? null : number);
            },
        }),
    );
}

function select(id, label, choices, chosen, title, set) {
    return h(
        "label",
        { title },
        `${label} `,
        h(
            "select",
            { id, onchange: (event) => set(event.target.value) },
            choices.map(([value, name]) => h("option", { value, selected: value === chosen }, name)),
        ),
    );
}

/** The fields of the settings: what is predicted and from which positions; `redraw` where one changes the others. */
export function settingFields(redraw) {
    const share = h("input", {
        id: "learn-blend",
        type: "number",
        min: 0,
        max: 1,
        step: 0.05,
        value: settings.blend,
        "aria-label": "Share of the result in the target",
        onchange: (event) => {
            const value = Number(event.target.value);
            if (event.target.value === "" || !(value >= 0 && value <= 1)) {
                showError("the share of the result is a number from 0 to 1");
                event.target.value = settings.blend;
                return;
            }
            showError(null);
            settings.blend = value;
        },
    });
    const rescoring = countField(
        "learn-rescore",
        "Nodes for scores",
        settings.rescore,
        1_000_000,
        "Search each position for this many nodes to score it; leave empty to use the scores in the games",
        (value) => {
            settings.rescore = value;
        },
    );
    rescoring.querySelector("input").placeholder = "in games";
    return h(
        "div",
        { class: "panel-bar" },
        select(
            "learn-target",
            "Target",
            [
                ["result", "result"],
                ["search", "search"],
                ["blend", "blend"],
            ],
            settings.target,
            "What to predict: the result of the game, the score of a search, or a blend of both",
            (value) => {
                settings.target = value;
                redraw();
                byId("learn-target").focus();
            },
        ),
        settings.target === "blend" ? h("label", {}, "of the result ", share) : null,
        settings.target === "result" ? null : rescoring,
        select(
            "learn-phases",
            "Phases",
            [
                ["", "as they are"],
                ["1", "1"],
                ["2", "2"],
            ],
            settings.phases === null ? "" : String(settings.phases),
            "One value per weight, or two: middlegame and endgame",
            (value) => {
                settings.phases = value === "" ? null : Number(value);
            },
        ),
        countField(
            "learn-per-game",
            "Positions per game",
            settings.perGame,
            1000,
            "Use at most this many positions of each game, drawn at random",
            (value) => {
                settings.perGame = value;
            },
        ),
    );
}

/** The field for the terms to fit. */
export function termsField() {
    return select(
        "learn-first",
        "Terms to fit",
        [
            ["6", "positional ones"],
            ["2", "piece values too"],
        ],
        String(settings.first),
        "Whether the values of the pieces are fitted as well",
        (value) => {
            settings.first = Number(value);
        },
    );
}
