// What a night has brought: its generations as table and graphs, and what their nets know.

import { COLOURS, chart } from "../base/chart.js";
import { h, number, panelBar, plainTable, selectField, tableRow } from "../base/dom.js";

const VERDICTS = { H1: "kept", H0: "dropped" };
const SCALES = [
    ["number", "generation"],
    ["hours", "hour"],
];

/** @type {any} */
let night = null;
let by = "number"; // the field that the graphs go by
/** @type {any} */
let charts = null;

/** The points of a field, with half the width of its interval where it has one. */
const points = (field, isChosen = (_) => true) =>
    night.generations
        .filter((found) => found[field] !== null && isChosen(found))
        .map((found) => [found[by], found[field], found[`${field}_error`] ?? 0]);

const rungs = (name) =>
    night.generations.flatMap((found) =>
        found.ladder
            .filter((rung) => rung.name === name && rung.elo !== null)
            .map((rung) => [found[by], rung.elo, rung.elo_error ?? 0]),
    );

function line(name, found, index) {
    return { name, colour: COLOURS[index % COLOURS.length], dots: true, points: found };
}

function trials() {
    const [kept, dropped] = [true, false].map((isKept) => points("elo", (found) => found.kept === isKept));
    return [
        { ...line("Kept", kept, 0), kind: "dots" },
        { ...line("Dropped", dropped, 1), kind: "dots" },
    ];
}

/**
 * Each graph: its label, the name of its values, their digits, its lines.
 * @type {Record<string, any>}
 */
const GRAPHS = {
    elo: {
        label: "Elo of the best",
        yName: "Elo of the best, 95% intervals",
        series: () => [
            line("From the start", points("from_start"), 0),
            line("From the terms", points("from_terms"), 1),
        ],
    },
    ladder: {
        label: "Elo from older nets",
        yName: "Elo of the best, 95% intervals",
        series: () => night.ladder.map((name, index) => line(`From ${name}`, rungs(name), index)),
    },
    trials: { label: "Elo of each net", yName: "Elo from the best before, 95% intervals", series: trials },
    error: {
        label: "Error",
        yName: "error",
        digits: 5,
        series: () => [line("On its own validation games", points("error"), 0)],
    },
    positions: {
        label: "Positions",
        yName: "positions learned from",
        isFromZero: true,
        series: () => [line("", points("positions"), 2)],
    },
    speed: {
        label: "Nodes a second",
        yName: "nodes a second in its games",
        isFromZero: true,
        series: () => [line("", points("nodes_a_second"), 2)],
    },
};

/** The data of a graph for `chart`, without lines that have no point. */
function read({ yName, digits, isFromZero, series }) {
    const found = night ? series().filter((each) => each.points.length) : [];
    const values = found.flatMap((each) => each.points.map((point) => point[1]));
    const last = night?.generations.at(-1)?.[by] ?? 1;
    const scale =
        by === "number" ? { xName: "generation", x: [1, Math.max(2, last)] } : { xName: "hours", x: [0, last] };
    return {
        series: found,
        yName,
        yDigits: digits,
        y: isFromZero ? [0, 1.06 * Math.max(...values)] : undefined,
        ...scale,
    };
}

function makeCharts() {
    return Object.fromEntries(
        Object.entries(GRAPHS).map(([name, graph]) => [
            name,
            chart({ label: graph.label, height: 210, read: () => read(graph) }),
        ]),
    );
}

function elo(value, error) {
    if (value === null) return "";
    const told = number(value, 0, true);
    return error === null ? `${told} or far ${value > 0 ? "more" : "less"}` : `${told} ± ${number(error, 0)}`;
}

function generationRow(found) {
    const cells = [
        `${number(found.hours, 1)} h`,
        found.neurons + (found.continued ? " (continued)" : ""),
        found.positions.toLocaleString("en"),
        found.error.toFixed(5),
        elo(found.elo, found.elo_error),
        VERDICTS[found.verdict] ?? "not settled",
        elo(found.from_start, found.from_start_error),
        elo(found.from_terms, found.from_terms_error),
        Math.round(found.nodes_a_second).toLocaleString("en"),
    ];
    return tableRow(found.number, cells, { class: found.number === night.best ? "strong" : "" });
}

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

const rungText = (rung) => (rung.elo === null ? "all to one side" : elo(rung.elo, rung.elo_error));

function ladderTable() {
    const rows = night.generations
        .filter((found) => found.ladder.length)
        .map((found) => {
            const met = new Map(found.ladder.map((rung) => [rung.name, rungText(rung)]));
            return tableRow(
                found.number,
                night.ladder.map((name) => met.get(name) ?? ""),
            );
        });
    return plainTable("night-ladder", ["Net", ...night.ladder.map((name) => `From ${name}`)], rows);
}

const scaleField = (draw) =>
    panelBar(
        selectField("night-by", "Graphs by", SCALES, by, (value) => {
            by = value;
            draw();
        }),
    );

/** The report of a night that has generations; `draw` draws the panel anew. */
export function nightReport(found, draw) {
    night = found;
    charts ??= makeCharts();
    const drawn = Object.keys(GRAPHS).filter((name) => read(GRAPHS[name]).series.length);
    return [
        h("p", { class: "summary", id: "night-summary" }, `${night.summary}.`),
        plainTable("night-table", HEADS, night.generations.map(generationRow)),
        night.ladder.length ? [h("h4", {}, "Elo from older nets, which stay the same"), ladderTable()] : null,
        scaleField(draw),
        h(
            "div",
            { class: "two charts" },
            drawn.map((name) => charts[name]),
        ),
    ];
}

/** Draw the graphs, which need a place on the page. */
export function redrawNight() {
    for (const each of Object.values(charts ?? {})) if (each.isConnected) each.redraw();
}
