// Teach your own engine: games, what to learn from them, the learning itself, the match that decides, keep or drop.

import { get, post } from "../base/api.js";
import { isRecord, keep, recall } from "../base/browser_storage.js";
import { chart } from "../base/chart.js";
import {
    button,
    byId,
    guarded,
    h,
    number,
    openFile,
    panelBar,
    percent,
    plural,
    replace,
    say,
    showError,
    tellError,
    spaced,
} from "../base/dom.js";
import { Work } from "../base/work.js";
import { listen, state } from "../state/store.js";
import { calibrationData, errorData, learnedSections, pathData } from "./learning_report.js";
import { chosenSettings, settingFields } from "./learning_settings.js";
import { redrawNight } from "./night_report.js";
import { nightSection } from "./nights.js";
import { balanceData, pointSections } from "./point_values.js";
import { addFiles, chosenFiles, filesField } from "./teaching_games.js";
import { beginMatch, clearMatch, isMatchOn, matchAtServer, matchResult, matchSection } from "./teaching_match.js";
import { changedTable, keepBar, resultOf, sharedWords, takeFile, takeLink } from "./teaching_result.js";
import { catalogue, loadWeights } from "./weights.js";

/** @type {any} */
let steps = [];
/** @type {any} */
let remarks = []; // what the learner says in words before it fits
/** @type {any} */
let record = null;
/** @type {any} */
let taught = null; // the new weights, learned here or shared: { id, name, fit, changed }
/** @type {any} */
let old = null; // those they come from, as the server is asked for them
/** @type {any} */
let points = null;
/** @type {any} */
let working = null; // "learn" or "points"
let progress = "";
const works = { learn: workOf("learn", takeLearned), points: workOf("points", takePoints) };
let draw = () => {};
let charts = {};

const OLD = "teach-old"; // the name under which `old` is kept for a reload, with the id of the new weights
const PLAYING = "a match is being played: let it end, or stop it first";

function begin(kind) {
    if (kind === "learn" && isMatchOn()) {
        showError(PLAYING);
        return;
    }
    working = kind;
    progress = "Starting; this part is compiled first, once";
    const message = { files: chosenFiles(), weights: state.weights, changes: state.changes };
    if (kind === "learn") {
        forget();
        old = { weights: state.weights, changes: state.changes };
        Object.assign(message, chosenSettings());
    } else points = null;
    works[kind].begin(message);
    draw();
}

/** Drop what was learned before. */
function forget() {
    clearMatch();
    steps = [];
    remarks = [];
    record = taught = null;
}

function workOf(kind, done) {
    const ended = () => {
        working = null;
        progress = "";
        draw();
    };
    return new Work(`/ws/${kind}`, { told: (message) => TOLD[message.type](message), done, ended });
}

const TOLD = { step: hearStep, progress: hearProgress, text: hearText };

function hearProgress({ what, done }) {
    progress = `${what}${done === null ? "" : ` ${percent(done)}`}`;
    showState();
}

function hearText({ text }) {
    if (!steps.length && !text.includes("weights.txt")) remarks.push(text);
    showState();
}

function hearStep(message) {
    steps.push(message);
    progress = "";
    showState();
    charts.errors?.redraw();
    charts.paths?.redraw();
    if (steps.length === 1) draw();
}

function takePoints(message) {
    points = message.points;
    say("The point values are ready");
}

function takeLearned(message) {
    record = message.record;
    taught = { id: message.weights.id, ...resultOf(record, message.weights.name) };
    setOld(old);
    loadWeights().catch(tellError);
    say(message.accepted ? "Learned: better on other games" : "Learned, but not clearly better");
}

/** Let these be the old weights, also after a reload. */
function setOld(weights) {
    old = weights;
    keep(OLD, { of: taught.id, old }, "sessionStorage");
}

/** Let the server keep the old weights apart, as others are about to take the place of their file. */
async function pinOld() {
    const entry = catalogue.weights.find(({ id }) => id === old.weights);
    const isReplaced = /^(in-use$|yours\/)/.test(old.weights); // what comes with Merino, or was sent to it, stays
    if (!isReplaced || !entry?.has_terms) return;
    const { text } = await post("/api/weights/text", old);
    const { id } = await post("/api/weights", { name: `formerly ${entry.name}`, text });
    setOld({ weights: id, changes: {} });
}

/** The weight that has moved most so far, in words. */
function mover() {
    const [first, last] = [steps[0].weights, steps.at(-1).weights];
    const change = (name) => Math.abs(last[name] - first[name]);
    const name = Object.keys(last).reduce((most, each) => (change(each) > change(most) ? each : most));
    if (change(name) < 0.5) return "";
    return `; ${spaced(name).toLowerCase()} moves most, from ${number(first[name])} to ${number(last[name])}`;
}

/** What is being done, in words. */
function stateWords() {
    if (working !== "learn" || !steps.length) return [progress, ...remarks.slice(-1)].filter(Boolean).join(". ");
    const [from, to] = [steps[0].valid, steps.at(-1).valid];
    const fall = `Step ${steps.length}: the error on games kept apart went from ${from.toFixed(6)} to ${to.toFixed(6)}`;
    return `${fall}${mover()}. ${progress}`.trim();
}

function showState() {
    const place = byId("learn-state");
    if (place) place.textContent = working ? stateWords() : "";
}

function chosenName() {
    const name = catalogue.weights.find((entry) => entry.id === state.weights)?.name ?? "the weights chosen";
    return name.replace(/^in use: (.*)/, "the weights in use ($1)");
}

const makeCharts = () => ({
    errors: chart({ label: "Error by step", height: 210, read: () => errorData(record, steps) }),
    paths: chart({ label: "Weights by step", height: 230, read: () => pathData(record, steps) }),
    calibration: chart({ label: "Calibration", height: 320, read: () => calibrationData(record) }),
    balance: chart({ label: "Score by balance of material", height: 260, read: () => balanceData(points) }),
});

function workButtons() {
    if (working) return button("learn-stop", "Stop", () => works[working].stop(), { class: "on" });
    const none = !chosenFiles().length;
    return [
        button("learn-start", "Learn the weights", () => begin("learn"), {
            class: "main",
            disabled: none || !catalogue.has_terms,
        }),
        button("points-start", "What pieces are worth", () => begin("points"), { disabled: none }),
    ];
}

const hint = () =>
    catalogue.has_terms
        ? `Learning starts from ${chosenName()}, and changes no file until you put the result in use.`
        : `Of ${chosenName()} there is nothing to learn: choose a weights file under Weights.`;

/** A part of the panel, numbered as the reader goes through them. */
const stage = (count, title, ...content) =>
    h("section", { class: "stage" }, h("h3", {}, h("span", { class: "stage-number" }, count), title), content);

const whileLearning = () =>
    h(
        "div",
        { class: "two charts" },
        h("section", {}, h("h4", {}, "Error by step"), charts.errors),
        h("section", {}, h("h4", {}, "Weights by step"), charts.paths),
    );

function learningStage() {
    if (!working && !steps.length && !record) return null;
    const shown = steps.length || record;
    return stage(
        3,
        "Watch it learn",
        h("p", { id: "learn-state" }),
        shown ? whileLearning() : null,
        record ? learnedSections(record, charts.calibration) : null,
    );
}

const players = () => ({ new: { weights: taught.id, changes: {} }, old });

function drop() {
    forget();
    post("/api/learning/drop", {}).catch(tellError);
    draw();
    say("Dropped; the weights are as they were");
}

const changedDetails = () =>
    h(
        "details",
        { open: Boolean(taught.text) },
        h("summary", {}, `What changed most (${plural(taught.changed.length, "weight")})`),
        changedTable(taught.changed),
    );

function decisionStages() {
    if (!taught) return null;
    return [
        stage(4, "The new against the old", matchSection(players, draw)),
        stage(
            5,
            "Keep or drop",
            taught.text ? h("p", { class: "summary", id: "taught-shared" }, sharedWords(taught)) : null,
            taught.fit || taught.changed.length ? changedDetails() : null, // else nothing is known of them
            keepBar(taught, matchResult, { pinOld, drop }),
        ),
    ];
}

const openShared = guarded(async () => {
    showShared(await takeFile((await openFile(".json,application/json")).text));
});

function showShared(found) {
    if (isMatchOn()) throw new Error(PLAYING);
    forget();
    taught = found;
    setOld({ weights: state.weights, changes: state.changes });
    draw();
    document.getElementById("taught-shared")?.scrollIntoView({ block: "center", behavior: "instant" });
}

/** Show a result that was shared as a link. */
export const openTaught = async (letters) => showShared(await takeLink(letters));

/** Take files that were dropped on the page: games to learn from, or a result that was shared. */
export async function dropOnTeaching(files) {
    const [file] = files;
    if (file.name.endsWith(".json")) showShared(await takeFile(await file.text()));
    else await addFiles(files, draw);
}

function drawPanel(panel) {
    replace(
        panel,
        stage(1, "Games", filesField(draw), panelBar(button("open-taught", "Open a shared result", openShared))),
        stage(2, "What to learn", settingFields(draw), panelBar(workButtons()), h("p", { class: "note" }, hint())),
        points ? [h("h3", {}, "What pieces are worth in these games"), pointSections(points, charts.balance)] : null,
        learningStage(),
        decisionStages(),
        nightSection(draw),
    );
    showState();
    redrawNight();
    for (const each of Object.values(charts)) if (each.isConnected) each.redraw();
}

/** Show what was learned before the page was loaded, and the match that the server plays or has played. */
async function findAgain() {
    const [{ record: known, weights }, played] = await Promise.all([get("/api/learning"), matchAtServer()]);
    if (working || record || taught) return;
    record = known;
    if (weights) taught = { id: weights.id, ...resultOf(record, weights.name) };
    if (played && played.new.weights !== taught?.id)
        taught = { id: played.new.weights, name: played.new.name, fit: null, changed: [] };
    const kept = recall(OLD, null, isRecord, "sessionStorage");
    if (kept && kept.of === taught?.id) old = kept.old;
    else old = played ? played.old : { weights: state.weights, changes: state.changes };
    if (played) beginMatch({ follow: true });
    draw();
}

export function makeTeaching(panel, isShown) {
    charts = makeCharts();
    draw = () => {
        if (isShown()) drawPanel(panel);
    };
    findAgain().catch(tellError);
    listen((topics) => {
        if (topics.has("tab") || (topics.has("weights") && !isMatchOn())) draw();
    });
}
