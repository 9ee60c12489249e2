// Teach your own engine: games from PGN files that are dropped or chosen, the settings of `merino learn`, the learning
// itself, the match that decides, keep or drop.

import { chart, redrawCharts } from "../base/chart.js";
import {
    guarded,
    h,
    number,
    percent,
    plural,
    replace,
    say,
    spaced,
    byId,
    bySize,
    reportError,
    showError,
} from "../base/dom.js";
import { chooseFiles, gamesText, openFile } from "../base/files.js";
import { keep, recall, isRecord } from "../base/kept.js";
import { Work, get, post } from "../base/server.js";
import {
    balanceData,
    calibrationData,
    errorData,
    learnedSections,
    pathData,
    pointSections,
} from "./learning_report.js";
import { makeNight } from "./night_report.js";
import { beginMatch, clearMatch, isMatchOn, drawMatch, makeMatch, matchAtServer } from "./teaching_match.js";
import { drawResult, makeResult, resultOf, takeFile, takeLink } from "./teaching_result.js";
import { catalogue, loadWeights } from "./weights.js";
import { listen, state } from "../state/store.js";

const MAX_BYTES = 60e6; // of all files

/** @type {{name: string, text: string}[]} */
let files = [];

const megabytes = (count) => (count < 1e5 ? `${Math.ceil(count / 1e3)} kB` : `${(count / 1e6).toFixed(1)} MB`);

/** Take these files too, but those taken already. */
async function addFiles(list) {
    try {
        const sizes = [...files.map((file) => file.text.length), ...[...list].map((file) => file.size)];
        if (sizes.reduce((sum, size) => sum + size, 0) > MAX_BYTES)
            throw new Error("these games are too many for the page: 'merino learn' in a shell takes them");
        for (const file of list) {
            const text = await gamesText(file);
            if (!/\[\s*\w+\s+"|\b1\s*\./.test(text)) throw new Error(`${file.name} holds no games`);
            files = [...files.filter((each) => each.name !== file.name), { name: file.name, text }];
        }
        showError(null);
    } catch (error) {
        reportError(error);
    }
    draw();
}

function fileItem(file) {
    const remove = () => {
        files = files.filter((each) => each !== file);
        draw();
    };
    const title = `Remove ${file.name}`;
    return h(
        "li",
        h("span.file-name", file.name),
        h("span.note", megabytes(file.text.length)),
        h("button.plain.remove", { "aria-label": title, title, onclick: remove }, "×"),
    );
}

/** The settings as the server takes them; null where one is out of its bounds, which the browser says. */
function chosenSettings() {
    const form = byId("learn-form");
    if (!form.reportValidity()) return null;
    const { first, target, blend, phases, per_game } = Object.fromEntries(new FormData(form));
    const sent = { net: "search", blend: `blend=${blend}` }[target] ?? target;
    const count = (text) => (text ? Number(text) : null);
    return {
        first: Number(first),
        target: sent,
        teacher: target === "net",
        phases: count(phases),
        per_game: count(per_game),
    };
}

const OLD = "teach-old"; // the name under which `old` is kept for a reload, with the id of the new weights
const PLAYING = "a match is being played: let it end, or stop it first";

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
let draw = () => {};

const charts = {
    errors: chart({ label: "Error by step", height: 210, read: () => errorData(record, steps) }),
    paths: chart({ label: "Weights by step", height: 230, read: () => pathData(record, steps) }),
    calibration: chart({ label: "Calibration", height: 320, read: () => calibrationData(record) }),
    balance: chart({ label: "Score by balance of material", height: 260, read: () => balanceData(points) }),
};

/** What is done with a message of the server's, by its type. */
const HEARD = {
    step: hearStep,
    progress: ({ what, done }) => {
        progress = `${what}${done === null ? "" : ` ${percent(done)}`}`;
    },
    text: ({ text }) => {
        if (!steps.length && !text.includes("weights.txt")) remarks.push(text);
    },
};

function workOf(kind, done) {
    const heard = (message) => {
        HEARD[message.type](message);
        showState();
    };
    const ended = () => {
        working = null;
        progress = "";
        draw();
    };
    return new Work(`/ws/${kind}`, { heard, done, ended });
}

const works = { learn: workOf("learn", takeLearned), points: workOf("points", takePoints) };

const shownWeights = () => ({ weights: state.weights, changes: state.changes });

function begin(kind) {
    if (kind === "learn" && isMatchOn()) {
        showError(PLAYING);
        return;
    }
    const settings = kind === "learn" ? chosenSettings() : {};
    if (!settings) return;
    working = kind;
    progress = "Starting; this part is compiled first (once)";
    if (kind === "learn") {
        forget();
        old = shownWeights();
    } else points = null;
    works[kind].begin({ files, ...shownWeights(), ...settings });
    draw();
}

/** Drop what was learned before. */
function forget() {
    clearMatch();
    steps = [];
    remarks = [];
    record = taught = null;
}

function hearStep(message) {
    steps.push(message);
    progress = "";
    if (steps.length === 1) draw();
    charts.errors.redraw();
    charts.paths.redraw();
}

function takePoints(message) {
    points = message.points;
    say("The point values are ready");
}

function takeLearned(message) {
    record = message.record;
    taught = { id: message.weights.id, ...resultOf(record, message.weights.name) };
    setOld(old);
    loadWeights().catch(reportError);
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
    const change = (name) => last[name] - first[name];
    const [name] = Object.keys(last).sort(bySize(change));
    if (Math.abs(change(name)) < 0.5) return "";
    return `; ${spaced(name).toLowerCase()} moves most, from ${number(first[name])} to ${number(last[name])}`;
}

/** What is being done, in words. */
function stateWords() {
    if (working !== "learn" || !steps.length) return [progress, ...remarks.slice(-1)].filter(Boolean).join(". ");
    const [from, to] = [steps[0].valid, steps.at(-1).valid].map((error) => error.toFixed(6));
    const fall = `Step ${steps.length}: the error on games kept apart went from ${from} to ${to}`;
    return `${fall}${mover()}. ${progress}`.trim();
}

function showState() {
    byId("learn-state").textContent = working ? stateWords() : "";
}

/** Show which files there are, and what can be done with them. */
function drawStart() {
    const entry = catalogue.weights.find(({ id }) => id === state.weights);
    const name = (entry?.name ?? "the weights chosen").replace(/^in use: (.*)/, "the weights in use ($1)");
    replace(byId("learn-files"), files.map(fileItem));
    byId("learn-count").textContent = files.length ? plural(files.length, "file") : "or drop them here";
    byId("learn-start").hidden = byId("points-start").hidden = Boolean(working);
    byId("learn-stop").hidden = !working;
    byId("points-start").disabled = !files.length;
    byId("learn-start").disabled = !files.length || !catalogue.has_terms;
    byId("learn-hint").textContent = catalogue.has_terms
        ? `Learning starts from ${name}, and changes no file until you put the result in use.`
        : `There is nothing to learn for ${name}: choose a weights file under Weights.`;
}

function drop() {
    forget();
    post("/api/learning/drop", {}).catch(reportError);
    draw();
    say("Dropped; the weights are as they were");
}

const openShared = guarded(async () => {
    const { text } = await openFile(".json,application/json");
    showShared(await takeFile(text));
});

function showShared(found) {
    if (isMatchOn()) throw new Error(PLAYING);
    forget();
    taught = found;
    setOld(shownWeights());
    byId("taught-changes").open = true;
    draw();
    byId("taught-shared").scrollIntoView({ block: "center", behavior: "instant" });
}

/** Show a result that was shared as a link. */
export const openTaught = async (letters) => showShared(await takeLink(letters));

/** Take files that were dropped on the page: games to learn from, or a result that was shared. */
export async function dropOnTeaching(files) {
    const [file] = files;
    if (file.name.endsWith(".json")) showShared(await takeFile(await file.text()));
    else await addFiles(files);
}

/** Show a part of the panel if there is something for it. */
function drawPart(id, isThere, fill) {
    byId(id).hidden = !isThere;
    if (isThere) fill();
}

function drawPanel() {
    drawStart();
    drawPart("learn-points", points, () =>
        replace(byId("learn-points").lastElementChild, pointSections(points, charts.balance)),
    );
    drawPart("learn-watch", working || steps.length || record, () => {
        byId("learn-graphs").hidden = !steps.length && !record;
        replace(byId("learn-report"), record ? learnedSections(record, charts.calibration) : null);
        showState();
    });
    drawPart("learn-match", taught, drawMatch);
    drawPart("learn-keep", taught, () => drawResult(taught));
    redrawCharts(charts);
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
    old = kept && kept.of === taught?.id ? kept.old : (played?.old ?? shownWeights());
    if (played) beginMatch({ follow: true });
    draw();
}

export function makeTeaching(_, isShown) {
    draw = () => {
        if (isShown()) drawPanel();
    };
    byId("learn-drop").ondrop = (event) => {
        event.preventDefault();
        event.stopPropagation();
        addFiles(event.dataTransfer.files);
    };
    byId("learn-open").onclick = guarded(async () => addFiles(await chooseFiles(".pgn,text/plain", true)));
    byId("open-taught").onclick = openShared;
    byId("learn-start").onclick = () => begin("learn");
    byId("points-start").onclick = () => begin("points");
    byId("learn-stop").onclick = () => works[working].stop();
    const part = (title, graph) => h("section", h("h4", title), graph);
    replace(byId("learn-graphs"), part("Error by step", charts.errors), part("Weights by step", charts.paths));
    makeMatch(() => ({ new: { weights: taught.id, changes: {} }, old }));
    makeResult(() => taught, pinOld);
    byId("taught-drop").onclick = drop;
    byId("learn-form").onsubmit = (event) => event.preventDefault();
    makeNight();
    findAgain().catch(reportError);
    listen((topics) => {
        if (topics.has("tab") || (topics.has("weights") && !isMatchOn())) draw();
    });
}
