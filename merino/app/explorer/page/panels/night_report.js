// A run of `merino night`: begun and stopped here, and its report, the generations of nets as tables and graphs.

import { COLOURS, chart, redrawCharts } from "../base/chart.js";
import { byId, h, note, plainTable, replace, tableRow } from "../base/dom.js";
import { guarded, showError, turns } from "../base/flow.js";
import { number, shortName, thousands } from "../base/words.js";
import { get, post } from "../base/server.js";

const VERDICTS = { H1: "kept", H0: "dropped" };
const HEADS = [
    "Net",
    "At",
    "Neurons",
    "Positions",
    "Error",
    "Elo",
    { unseen: "Verdict" },
    "From the start",
    "From the terms",
    "Nodes/s",
];
/** Milliseconds between two looks at a run that is at work. */
export const looks = { ms: 2000 };

/** @type {any} */
let night = null; // the report that is shown
/** @type {any} */
let run = null; // what the server says of the one that it carries out
let place = ""; // the usual folder
let isAsked = false;
let timer = 0;
const beginAsking = turns(); // of the server: only the last answer says how its run stands

/** The points of a field, with half the width of its interval where it has one. */
const points = (field) =>
    night.generations
        .filter((found) => found[field] !== null)
        .map((found) => [found.number, found[field], found[`${field}_error`] ?? 0]);

const line = (name, found, index) => ({ name, colour: COLOURS[index], dots: true, points: found });

/**
 * Each graph: its label, the name of its values, its lines, and more for the chart.
 * @type {Record<string, [string, string, () => any[], any?]>}
 */
const GRAPHS = {
    elo: [
        "Elo of the best",
        "Elo of the best, 95% intervals",
        () => [line("From the start", points("from_start"), 0), line("From the terms", points("from_terms"), 1)],
    ],
    error: ["Error", "error", () => [line("On its own validation games", points("error"), 0)], { yDigits: 5 }],
};

/**
 * The data of a graph for `chart`, without lines that have no point.
 * @param {[string, string, () => any[], any?]} graph
 */
function read([, yName, lines, more]) {
    const series = night ? lines().filter((each) => each.points.length) : [];
    const last = night?.generations.at(-1)?.number ?? 1;
    return { series, yName, xName: "generation", x: [1, Math.max(2, last)], ...more };
}

const charts = Object.fromEntries(
    Object.entries(GRAPHS).map(([name, graph]) => [
        name,
        chart({ label: graph[0], height: 210, read: () => read(graph) }),
    ]),
);

function elo(value, error) {
    if (value === null) return "";
    const strength = number(value, 0, true);
    return error === null ? `${strength} or far ${value > 0 ? "more" : "less"}` : `${strength} ± ${number(error)}`;
}

function generationRow(found) {
    const cells = [
        `${number(found.hours, 1)} h`,
        found.neurons + (found.continued ? " (continued)" : ""),
        thousands(found.positions),
        found.error.toFixed(5),
        elo(found.elo, found.elo_error),
        VERDICTS[found.verdict] ?? "not settled",
        elo(found.from_start, found.from_start_error),
        elo(found.from_terms, found.from_terms_error),
        thousands(Math.round(found.nodes_a_second)),
    ];
    return tableRow(found.number, cells, { class: found.number === night.best ? "strong" : "" });
}

/** The report of a night that has generations. */
function report() {
    const drawn = Object.keys(GRAPHS).filter((name) => read(GRAPHS[name]).series.length);
    return [
        h("p#night-summary.summary", `${night.summary}.`),
        plainTable("night-table", HEADS, night.generations.map(generationRow)),
        h(
            "div.two",
            drawn.map((name) => charts[name]),
        ),
    ];
}

const askUsual = guarded(async () => {
    isAsked = true;
    const isLast = beginAsking();
    const found = await get("/api/night");
    night ??= found.night;
    if (isLast()) take(found);
    draw();
});

/** Take what the server says of its run, and look again while it is at work. */
function take(found) {
    ({ run, place = place } = found);
    clearTimeout(timer);
    if (run?.running) timer = setTimeout(lookAgain, looks.ms);
    else if (run?.error) showError(run.error);
}

const lookAgain = guarded(async () => {
    const isLast = beginAsking();
    const found = await get("/api/night");
    if (!isLast()) return;
    take(found);
    const isSame = found.night?.generations.length === night?.generations.length;
    night = found.night;
    if (run?.running && isSame) byId("night-doing").textContent = run.doing;
    else draw();
});

const ask = guarded(async (what, message = {}) => {
    const isLast = beginAsking();
    const found = await post(`/api/night/${what}`, message);
    if (isLast()) take(found);
    draw();
});

function askAgain() {
    night = null;
    askUsual();
}

function drawRun() {
    const isAtWork = Boolean(run?.running);
    byId("night-stop").hidden = !isAtWork;
    byId("night-begin").hidden = isAtWork;
    byId("night-doing").textContent = isAtWork ? run.doing : "";
    byId("night-where").textContent = isAtWork ? `A night of ${run.hours} h, in ${place}` : "";
}

function content() {
    const where = night ? `From ${shortName(night.start)}, in ${night.place}` : "No run in the usual folder.";
    const isEmpty = night && !night.generations.length;
    const found = isEmpty ? h("p#night-summary", "No generation is finished yet.") : night && report();
    return [note(where), found];
}

function draw() {
    drawRun();
    replace(byId("night-content"), content());
    redrawCharts(charts);
}

export function makeNight() {
    draw();
    byId("night-start").onclick = () => ask("start", { hours: Number(byId("night-hours").value) });
    byId("night-stop").onclick = () => ask("stop");
    byId("night-again").onclick = askAgain;
    byId("night").ontoggle = () => {
        if (!isAsked) askUsual();
        redrawCharts(charts);
    };
}
