// What learning found: errors and weights by step, the verdict, the weights, and calibration.

import { COLOURS } from "../base/chart.js";
import { h, number, plainTable, plural, spaced, tableRow } from "../base/dom.js";

const INTERVAL = 1.96; // standard errors to either side, which are 95%

/** The steps of the fit: those of the record, or those heard so far. */
const allSteps = (record, steps) =>
    record
        ? record.steps.map((step) => ({
              ...step,
              weights: Object.fromEntries(record.terms.map((term, index) => [term.name, step.weights[index]])),
          }))
        : steps;

/** Both errors by step. */
export function errorData(record, steps) {
    const all = allSteps(record, steps);
    const line = (name, colour, field) => ({
        name,
        colour,
        dots: all.length < 40,
        points: all.map((step, index) => [index, step[field]]),
    });
    return {
        series: [line("Training set", COLOURS[0], "train"), line("Validation set", COLOURS[1], "valid")],
        xName: "step",
        yName: "error",
        yDigits: 4,
        x: [0, Math.max(1, all.length - 1)],
    };
}

/** The weights that changed most, by step. */
export function pathData(record, steps) {
    const all = allSteps(record, steps);
    if (!all.length) return { series: [] };
    const change = (name) => all.at(-1).weights[name] - all[0].weights[name];
    const names = Object.keys(all[0].weights)
        .filter((name) => Math.abs(change(name)) >= 0.5)
        .sort((a, b) => Math.abs(change(b)) - Math.abs(change(a)))
        .slice(0, 8);
    return {
        series: names.map((name, index) => ({
            name: `${spaced(name)} ${number(change(name), 0, true)}`,
            colour: COLOURS[index],
            points: all.map((step, at) => [at, step.weights[name] - all[0].weights[name]]),
        })),
        xName: "step",
        yName: "change of the weight, centipawns",
        x: [0, Math.max(1, all.length - 1)],
    };
}

/** Points scored by points predicted, before and after learning. */
export function calibrationData(record) {
    const dots = (bins) => bins.map((bin) => [bin.predicted, bin.scored, INTERVAL * bin.error]);
    return {
        series: [
            { name: "Before learning", colour: "var(--faint)", kind: "dots", points: dots(record.calibration.before) },
            { name: "After learning", colour: COLOURS[0], kind: "dots", points: dots(record.calibration.after) },
        ],
        x: [0, 1],
        y: [0, 1],
        diagonal: true,
        xName: "points predicted for White",
        yName: "points scored",
        yDigits: 1,
    };
}

function bars(line, scale) {
    const at = (value) => `${50 + (50 * value) / scale}%`;
    return h(
        "span",
        { class: "range", title: `95% interval ${number(line.low, 1)} to ${number(line.high, 1)}` },
        h("i", { class: "interval", style: { left: at(line.low), right: `${100 - parseFloat(at(line.high))}%` } }),
        h("i", { class: "old", style: { left: at(line.old) } }),
        h("i", { class: "new", style: { left: at(line.new) } }),
    );
}

/** The lines of the weights, the two values of a term one after the other. */
function inPairs(lines) {
    const base = (line) => line.name.replace(/_[me]g$/, "");
    const order = [...new Set(lines.map(base))];
    return [...lines].sort((a, b) => order.indexOf(base(a)) - order.indexOf(base(b)));
}

function verdictOf(summary) {
    const quality = summary.accepted
        ? "clearly better on other games"
        : summary.gain < 0
          ? "no better on other games"
          : "better on other games, but not clearly";
    const folds = summary.folds > 1 ? ` (${summary.folds}-fold cross-validation)` : "";
    const change = `${summary.gain >= 0 ? "fell" : "rose"} by ${Math.abs(summary.gain).toFixed(6)}`;
    return [
        `The new weights are ${quality}${folds}: the error ${change} \u00b1 ${(INTERVAL * summary.gain_error).toFixed(6)}.`,
        `${plural(summary.games, "game")}, ${plural(summary.positions, "position")}, ${summary.seconds.toFixed(1)} s.`,
        `K ${summary.k_before.toFixed(1)} before, ${summary.k.toFixed(1)} after.`,
    ].join(" ");
}

function weightRow(line, scale) {
    const cells = [
        number(line.old),
        h("td", { class: line.old === line.new ? "" : "strong" }, number(line.new)),
        `${number(line.low)} .. ${number(line.high)}`,
        h("td", { class: "range-cell" }, bars(line, scale)),
        line.clear === null ? "" : line.clear ? "yes" : "no",
        line.positions.toLocaleString("en"),
    ];
    return tableRow(spaced(line.name), cells, { title: line.flags.join(", ") });
}

const HEADS = ["Weight", "Before", "After", "95% interval", { unseen: "Change and interval" }, "Clear", "Positions"];
const LEGEND =
    "Grey mark: before; blue mark and band: after, with its interval. Clear: the change is larger than its noise.";

const opened = new Set(); // the titles of the parts that are open

/** A part that its reader may fold away; it stays as it was when the panel is drawn anew. */
function folded(title, ...content) {
    const box = h("details", { open: opened.has(title) }, h("summary", {}, title), content);
    box.addEventListener("toggle", () => {
        opened[box.open ? "add" : "delete"](title);
        dispatchEvent(new Event("resize"));
    });
    return box;
}

/** What learning found: verdict, weights with their intervals, and calibration. */
export function learnedSections(record, calibrationChart) {
    const { summary } = record;
    const free = inPairs(summary.weights.filter((line) => !line.flags.includes("frozen")));
    const scale = Math.max(...free.flatMap((line) => [line.low, line.high, line.old, line.new].map(Math.abs)), 1);
    return [
        h("p", { class: "summary", id: "learn-verdict" }, verdictOf(summary)),
        folded(
            "All weights",
            plainTable(
                "learned",
                HEADS,
                free.map((line) => weightRow(line, scale)),
            ),
            h("p", { class: "note" }, LEGEND),
        ),
        record.calibration.after.length
            ? folded("Calibration: points scored against points predicted", calibrationChart)
            : null, // strays were learned from, of which results say nothing
    ];
}
