// The settings of learning on the page, as `merino learn` has them.

import { byId, h, panelBar, selectField, showError } from "../base/dom.js";

/**
 * @type {{first: number, target: string, blend: number, phases: number | null, perGame: number | null}}
 */
const settings = {
    first: 6,
    target: "net", // what to predict; see TARGETS
    blend: 0.5, // the share of the result in the target "blend"
    phases: null, // values a weight has, 1 or 2; null for as many as at the start
    perGame: null, // positions used of each game; null for all
};

const TARGETS = [
    ["net", "what a net says of the positions"],
    ["result", "the results of the games"],
    ["search", "scores in the games"],
    ["blend", "results and scores together"],
];
const SENT = { net: "search", blend: () => `blend=${settings.blend}` };

/** The settings as the server takes them. */
export function chosenSettings() {
    const sent = SENT[settings.target] ?? settings.target;
    return {
        first: settings.first,
        target: typeof sent === "function" ? sent() : sent,
        teacher: settings.target === "net",
        phases: settings.phases,
        per_game: settings.perGame,
    };
}

/** A field for a whole number, empty for none; what is none is refused, and the number before is back. */
function countField(id, label, value, most, title, set) {
    let last = value;
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
                    event.target.value = last ?? "";
                    return;
                }
                showError(null);
                last = text === "" ? null : number;
                set(last);
            },
        }),
    );
}

function setShare(event) {
    const value = Number(event.target.value);
    if (event.target.value === "" || !(value >= 0 && value <= 1)) {
        showError("the share of the result is a number from 0 to 1");
        event.target.value = settings.blend;
        return;
    }
    showError(null);
    settings.blend = value;
}

const shareField = () =>
    h("input", {
        id: "learn-blend",
        type: "number",
        min: 0,
        max: 1,
        step: 0.05,
        value: settings.blend,
        "aria-label": "Share of the result in the target",
        onchange: setShare,
    });

function targetField(redraw) {
    const title = "What the new weights shall predict; of few games a net says more than their results";
    const choose = (value) => {
        settings.target = value;
        redraw();
        byId("learn-target").focus();
    };
    return selectField("learn-target", "From", TARGETS, settings.target, choose, { title });
}

function phasesField() {
    const title = "One value per weight, or two: middlegame and endgame";
    const choices = [
        ["", "as they are"],
        ["1", "1"],
        ["2", "2"],
    ];
    const choose = (value) => {
        settings.phases = value === "" ? null : Number(value);
    };
    return selectField("learn-phases", "Phases", choices, String(settings.phases ?? ""), choose, { title });
}

function perGameField() {
    const title = "Use at most this many positions of each game, drawn at random";
    return countField("learn-per-game", "Positions per game", settings.perGame, 1000, title, (value) => {
        settings.perGame = value;
    });
}

/** The fields of the settings: what is predicted and from which positions; `redraw` where one changes the others. */
export const settingFields = (redraw) =>
    panelBar(
        termsField(),
        targetField(redraw),
        settings.target === "blend" ? h("label", {}, "of the result ", shareField()) : null,
        phasesField(),
        perGameField(),
    );

/** The field for the terms to fit. */
function termsField() {
    const title = "Whether the values of the pieces are fitted as well";
    const choices = [
        ["6", "the positional terms"],
        ["2", "piece values too"],
    ];
    const choose = (value) => {
        settings.first = Number(value);
    };
    return selectField("learn-first", "Learn", choices, String(settings.first), choose, { title });
}
