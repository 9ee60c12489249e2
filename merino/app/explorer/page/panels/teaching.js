// Teach your own engine: games from PGN files that are dropped or chosen, the settings of `merino learn`, the learning
// itself, the match that decides, and what becomes of the new weights.

import { redrawCharts } from "../base/chart.js";
import { byId, h, replace } from "../base/dom.js";
import { base64, chooseFiles } from "../base/files.js";
import { guarded, reportError, say, showError } from "../base/flow.js";
import { Work, get, post } from "../base/server.js";
import { bySize, number, percent, plural, spaced } from "../base/words.js";
import { changed, listen, refresh, state } from "../state/store.js";
import { chartsOf, learnedSections, pointSections } from "./learning_report.js";
import { makeNight } from "./night_report.js";
import { beginMatch, clearMatch, drawMatch, isMatchOn, makeMatch, matchAtServer } from "./teaching_match.js";
import { catalogue, loadWeights, saveWeights, useWeights } from "./weights.js";

const MAX_BYTES = 60e6; // of all files
const SMALL = 0.5; // centipawns; less is no change to speak of
const PLAYING = "a match is being played: let it end, or stop it first";

/** @type {File[]} */
let files = [];
/** @type {any} */
let steps = [];
/** @type {any} */
let remarks = []; // what the learner says in words before it fits
/** @type {any} */
let record = null;
/** @type {any} */
let taught = null; // the new weights, as the server is asked for them
/** @type {any} */
let old = null; // those they come from
/** @type {any} */
let points = null;
/** @type {any} */
let working = null; // "learn" or "points"
let progress = "";
let draw = () => {};

const charts = chartsOf(() => ({ record, steps }));

const megabytes = (count) => (count < 1e5 ? `${Math.ceil(count / 1e3)} kB` : `${(count / 1e6).toFixed(1)} MB`);

/** Take these files too, but those taken already. */
export async function addFiles(list) {
    try {
        const all = [...files, ...list];
        if (all.reduce((sum, { size }) => sum + size, 0) > MAX_BYTES)
            throw new Error("these games are too many for the page: 'merino learn' in a shell takes them");
        for (const file of list) {
            if (!/\[\s*\w+\s+"|\b1\s*\./.test(await file.text())) throw new Error(`${file.name} holds no games`);
            files = [...files.filter(({ name }) => name !== file.name), file];
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
        h("span.note", megabytes(file.size)),
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
    const counts = { first: count(first), phases: count(phases), per_game: count(per_game) };
    return { ...counts, target: sent, teacher: target === "net" };
}

/** What is done with a message of the server's, by its type. */
const HEARD = {
    step: (message) => {
        steps.push(message);
        progress = "";
        if (steps.length === 1) draw();
        charts.errors.redraw();
        charts.paths.redraw();
    },
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

const works = {
    learn: workOf("learn", (message) => {
        takeLearned(message);
        loadWeights().catch(reportError);
        say(message.accepted ? "Learned: better on other games" : "Learned, but not clearly better");
    }),
    points: workOf("points", (message) => {
        points = message.points;
        say("The point values are ready");
    }),
};

const asked = (weights) => weights && { weights: weights.id, changes: {} };

function takeLearned(learned) {
    record = learned.record;
    taught = asked(learned.weights);
    old = asked(learned.old);
}

async function begin(kind) {
    if (kind === "learn" && isMatchOn()) {
        showError(PLAYING);
        return;
    }
    const settings = kind === "learn" ? chosenSettings() : {};
    if (!settings) return;
    working = kind;
    progress = "Starting; this part is compiled first (once)";
    if (kind === "learn") forget();
    else points = null;
    draw();
    const sent = files.map(async (file) => ({ name: file.name, content: await base64(file) }));
    const { weights, changes } = state;
    works[kind].begin({ files: await Promise.all(sent), weights, changes, ...settings });
}

/** Drop what was learned before. */
function forget() {
    clearMatch();
    steps = [];
    remarks = [];
    record = taught = null;
}

/** The weight that has moved most so far, in words. */
function mover() {
    const [first, last] = [steps[0].weights, steps.at(-1).weights];
    const change = (name) => last[name] - first[name];
    const [name] = Object.keys(last).sort(bySize(change));
    if (Math.abs(change(name)) < SMALL) return "";
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

async function putInUse() {
    const question = "Merino will play with these weights from now on, everywhere. The old file is kept. Go on?";
    if (!confirm(question)) return;
    const { lines } = await post("/api/weights/use", taught);
    state.edition += 1; // what was answered with those before is asked again
    await loadWeights();
    changed("weights");
    await refresh();
    say("In use");
    byId("taught-done").textContent = lines.join(". ");
}

async function drop() {
    forget();
    draw();
    say("Dropped; the weights are as they were");
    await post("/api/learning/drop", {});
}

/** Show a part of the panel if there is something for it. */
function drawPart(id, isThere, fill) {
    byId(id).hidden = !isThere;
    if (isThere) fill();
}

function drawPanel() {
    drawStart();
    drawPart("learn-points", points, () => replace(byId("learn-points").lastElementChild, pointSections(points)));
    drawPart("learn-watch", working || steps.length || record, () => {
        byId("learn-graphs").hidden = !steps.length && !record;
        replace(byId("learn-report"), record ? learnedSections(record) : null);
        showState();
    });
    drawPart("learn-match", taught, drawMatch);
    byId("learn-keep").hidden = !taught;
    redrawCharts(charts);
}

/** Show what was learned before the page was loaded, and the match that the server plays or has played. */
async function findAgain() {
    const [learned, played] = await Promise.all([get("/api/learning"), matchAtServer()]);
    if (working || record) return;
    takeLearned(learned);
    if (played && played.new.weights !== taught?.weights) {
        record = null;
        taught = played.new;
        old = played.old;
    }
    if (played) beginMatch({ follow: true });
    draw();
}

export function makeTeaching(_, isShown) {
    draw = () => {
        if (isShown()) drawPanel();
    };
    const actions = {
        "learn-open": async () => addFiles(await chooseFiles(".pgn,text/plain", true)),
        "learn-start": () => begin("learn"),
        "points-start": () => begin("points"),
        "learn-stop": async () => works[working].stop(),
        "learn-use": () => useWeights(taught.weights),
        "taught-in-use": putInUse,
        "learn-save": () => saveWeights(taught.weights, {}),
        "taught-drop": drop,
    };
    for (const [id, action] of Object.entries(actions)) byId(id).onclick = guarded(action);
    byId("learn-drop").ondrop = (event) => {
        event.preventDefault();
        event.stopPropagation();
        addFiles(event.dataTransfer.files);
    };
    const part = (title, graph) => h("section", h("h4", title), graph);
    replace(byId("learn-graphs"), part("Error by step", charts.errors), part("Weights by step", charts.paths));
    makeMatch(() => ({ new: taught, old }));
    byId("learn-form").onsubmit = (event) => event.preventDefault();
    makeNight();
    findAgain().catch(reportError);
    listen((topics) => {
        if (topics.has("tab") || (topics.has("weights") && !isMatchOn())) draw();
    });
}
