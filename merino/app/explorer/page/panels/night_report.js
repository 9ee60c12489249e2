// A run of `merino night`: begun and stopped here, and its report, the generations of nets as tables and graphs.

import { COLOURS, chart, redrawCharts } from "../base/chart.js";
import { button, byId, h, note, panelBar, plainTable, replace, selectField, tableRow } from "../base/dom.js";
import { guarded, showError, turns } from "../base/flow.js";
import { number, plural, shortName, thousands } from "../base/words.js";
import { openFile } from "../base/files.js";
import { get, post } from "../base/server.js";

const HOURS = [1, 2, 4, 8, 12];
const VERDICTS = { H1: "kept", H0: "dropped" };
const SCALES = [
    ["number", "generation"],
    ["hours", "hour"],
];
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
const START =
    "Plays games with the best net, trains the next one, and keeps it if it wins a match, on all cores but one. " +
    "It goes on when this tab is closed, ends with the explorer, and later continues where it stopped. " +
    "It never puts a net in use by itself.";

/** Milliseconds between two looks at a run that is at work. */
export const looks = { ms: 2000 };

/** @type {any} */
let night = null; // the report that is shown
let isOpened = false; // from a file, and not the one in the usual folder
/** @type {any} */
let run = null; // what the server says of the one that it carries out
let place = ""; // the usual folder
let hours = 8;
let isAsked = false;
let timer = 0;
let by = "number"; // the field that the graphs go by
const beginAsking = turns(); // of the server: only the last answer says how its run stands

/** The points of a field, with half the width of its interval where it has one. */
const points = (field, isChosen = (_) => true) =>
    night.generations
        .filter((found) => found[field] !== null && isChosen(found))
        .map((found) => [found[by], found[field], found[`${field}_error`] ?? 0]);

const line = (name, found, index, more = {}) => ({ name, colour: COLOURS[index], dots: true, points: found, ...more });
const trials = (name, isKept, index) =>
    line(
        name,
        points("elo", ({ kept }) => kept === isKept),
        index,
        { kind: "dots" },
    );

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
    trials: [
        "Elo of each net",
        "Elo from the best before, 95% intervals",
        () => [trials("Kept", true, 0), trials("Dropped", false, 1)],
    ],
    error: ["Error", "error", () => [line("On its own validation games", points("error"), 0)], { yDigits: 5 }],
};

/**
 * The data of a graph for `chart`, without lines that have no point.
 * @param {[string, string, () => any[], any?]} graph
 */
function read([, yName, lines, more]) {
    const series = night ? lines().filter((each) => each.points.length) : [];
    const last = night?.generations.at(-1)?.[by] ?? 1;
    const axis =
        by === "number" ? { xName: "generation", x: [1, Math.max(2, last)] } : { xName: "hours", x: [0, last] };
    return { series, yName, ...axis, ...more };
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

function ladderTable() {
    const text = (rung) => (rung.elo === null ? "all to one side" : elo(rung.elo, rung.elo_error));
    const row = ({ number, ladder }) => {
        const met = new Map(ladder.map((rung) => [rung.name, text(rung)]));
        return tableRow(
            number,
            night.ladder.map((name) => met.get(name) ?? ""),
        );
    };
    const rows = night.generations.filter(({ ladder }) => ladder.length).map(row);
    return plainTable("night-ladder", ["Net", ...night.ladder.map((name) => `From ${name}`)], rows);
}

/** The report of a night that has generations. */
function report() {
    const drawn = Object.keys(GRAPHS).filter((name) => read(GRAPHS[name]).series.length);
    const choose = (value) => {
        by = value;
        draw();
    };
    return [
        h("p#night-summary.summary", `${night.summary}.`),
        plainTable("night-table", HEADS, night.generations.map(generationRow)),
        night.ladder.length ? [h("h4", "Elo from older nets, which stay the same"), ladderTable()] : null,
        panelBar(selectField("night-by", "Graphs by", SCALES, by, choose)),
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
    const sameAs = (other) => other?.place === night?.place && other?.generations.length === night?.generations.length;
    const words = byId("night-doing");
    if (run?.running && (isOpened || sameAs(found.night))) {
        if (words) words.textContent = run.doing;
        return;
    }
    if (!isOpened) night = found.night;
    draw();
});

const ask = guarded(async (what, message = {}) => {
    const isLast = beginAsking();
    const found = await post(`/api/night/${what}`, message);
    if (isLast()) take(found);
    draw();
});

/** Start a run, and follow it from now on. */
function start() {
    isOpened = false;
    return ask("start", { hours });
}

function askAgain() {
    night = null;
    isOpened = false;
    askUsual();
}

function runBar() {
    if (run?.running) {
        const where = h("span.note", `A night of ${run.hours} h, in ${place}`);
        const bar = panelBar(
            button("night-stop.on", "Stop", () => ask("stop")),
            where,
        );
        return [bar, h("p#night-doing.note", run.doing)];
    }
    const choices = HOURS.map((count) => [count, plural(count, "hour")]);
    const choose = (value) => {
        hours = Number(value);
    };
    const length = selectField("night-hours", "of", choices, hours, choose);
    return [panelBar(button("night-start", "Start a night", start), length), note(START)];
}

const openState = guarded(async () => {
    const { name, text } = await openFile(".json,application/json");
    night = (await post("/api/night", { name, text })).night;
    isOpened = true;
    draw();
});

function content() {
    const where = night ? `From ${shortName(night.start)}, in ${night.place}` : "No run in the usual folder.";
    const open = button("night-open", "Open a night.json", openState);
    const bar = panelBar(open, button("night-again", "Look again", askAgain), h("span.note", where));
    const isEmpty = night && !night.generations.length;
    const found = isEmpty ? h("p#night-summary", "No generation is finished yet.") : night && report();
    return [runBar(), bar, found];
}

function draw() {
    replace(byId("night-content"), content());
    redrawCharts(charts);
}

export function makeNight() {
    draw();
    byId("night").ontoggle = () => {
        if (!isAsked) askUsual();
        redrawCharts(charts);
    };
}
