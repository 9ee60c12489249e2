// Learning: `learn` on games of the user's, followed step by step; what it found; and what pieces are worth there.

import { channel, get } from "./api.js";
import { chart } from "./chart.js";
import { byId, h, openFile, percent, replace, say, showError } from "./dom.js";
import { calibrationData, errorData, learnedSections, pathData } from "./learning_report.js";
import { chosenSettings, settingFields, termsField } from "./learning_settings.js";
import { balanceData, pointSections } from "./point_values.js";
import { catalogue, loadWeights } from "./weights.js";
import { listen, state } from "./store.js";

const MAX_BYTES = 60e6;
let games = null; // { name, text }
let steps = [];
let record = null;
let learned = null; // the entry of the new weights
let points = null;
let working = null; // "learn" or "points"
let progress = "";
const links = {};
let draw = () => {};
let charts = {};

function begin(kind) {
    if (games.text.length > MAX_BYTES) {
        showError(`${games.name} is too large for the page: 'merino learn' in a shell takes it`);
        return;
    }
    working = kind;
    progress = "Starting; this part is compiled first, once";
    links[kind] ??= channel(`/ws/${kind}`, (message) => hear(kind, message));
    const message = { text: games.text, name: games.name, weights: state.weights, changes: state.changes };
    if (kind === "learn") {
        steps = [];
        record = learned = null;
        Object.assign(message, chosenSettings());
    } else points = null;
    links[kind].send(message);
    draw();
}

function hear(kind, message) {
    if (message.type === "step") {
        steps.push(message);
        showState();
        charts.errors?.redraw();
        charts.paths?.redraw();
        if (steps.length === 1) draw();
        return;
    }
    if (message.type === "progress") {
        progress = `${message.what}${message.done === null ? "" : ` ${percent(message.done)}`}`;
        showState();
        return;
    }
    if (message.type === "text") return;
    if (message.type === "closed" && working !== kind) return;
    if (message.type === "closed") showError("the connection to the server has ended");
    working = null;
    progress = "";
    if (message.type === "error") showError(message.error);
    if (message.type === "done" && kind === "learn") {
        record = message.record;
        learned = message.weights;
        loadWeights().catch((error) => showError(error.message));
        say(message.accepted ? "Learned: better on other games" : "Learned, but not clearly better");
    }
    if (message.type === "done" && kind === "points") {
        points = message.points;
        say("The point values are ready");
    }
    draw();
}

function showState() {
    const place = byId("learn-state");
    if (place)
        place.textContent =
            steps.length && working === "learn"
                ? `Step ${steps.length}, error ${steps.at(-1).train.toFixed(6)}. ${progress}`
                : progress;
}

const chosenName = () => catalogue.weights.find((entry) => entry.id === state.weights)?.name ?? "the weights chosen";

const makeCharts = () => ({
    errors: chart({ label: "Error by step", height: 210, read: () => errorData(record, steps) }),
    paths: chart({ label: "Weights by step", height: 230, read: () => pathData(record, steps) }),
    calibration: chart({ label: "Calibration", height: 320, read: () => calibrationData(record) }),
    balance: chart({ label: "Score by balance of material", height: 260, read: () => balanceData(points) }),
});

async function open() {
    try {
        games = await openFile(".pgn,text/plain");
        draw();
    } catch (error) {
        showError(error.message);
    }
}

function button(id, label, onclick, more = {}) {
    return h("button", { type: "button", id, onclick, ...more }, label);
}

function workButtons() {
    if (working) return button("learn-stop", "Stop", () => links[working].stop(), { class: "on" });
    const learn = { class: "main", disabled: !games || !catalogue.has_terms };
    return [
        button("learn-start", "Learn the weights", () => begin("learn"), learn),
        button("points-start", "What pieces are worth", () => begin("points"), { disabled: !games }),
    ];
}

const hint = () =>
    catalogue.has_terms
        ? `Learning starts from ${chosenName()} and changes no file.`
        : `${chosenName()} has no weights to learn: choose a weights file under Weights.`;

const whileLearning = () =>
    h(
        "div",
        { class: "two charts" },
        h("section", {}, h("h3", {}, "Error by step"), charts.errors),
        h("section", {}, h("h3", {}, "Weights by step"), charts.paths),
    );

function drawPanel(panel) {
    replace(
        panel,
        h(
            "div",
            { class: "panel-bar" },
            button("learn-open", games ? games.name : "Open a PGN file", open),
            termsField(),
            workButtons(),
            h("span", { class: "note", id: "learn-state", role: "status" }, progress),
        ),
        settingFields(draw),
        h("p", { class: "note" }, hint()),
        steps.length || record ? whileLearning() : null,
        record ? learnedSections(record, learned, charts.calibration) : null,
        points ? [h("h3", {}, "What pieces are worth in these games"), pointSections(points, charts.balance)] : null,
    );
    showState();
    for (const each of Object.values(charts)) if (each.isConnected) each.redraw();
}

export function makeLearning(panel, isShown) {
    charts = makeCharts();
    draw = () => {
        if (isShown()) drawPanel(panel);
    };
    get("/api/learning").then(
        (answer) => {
            record ??= answer.record;
            draw();
        },
        (error) => showError(error.message),
    );
    listen((topics) => {
        if (topics.has("tab") || topics.has("weights")) draw();
    });
}
