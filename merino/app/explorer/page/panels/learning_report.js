// What learning found: errors and weights by step, the verdict, and the weights; and what pieces are worth in
// the games that were opened, as `merino points` has it.

import { COLOURS, chart } from "../base/chart.js";
import { details, h, note, plainTable, tableRow } from "../base/dom.js";
import { bySize, number, plural, spaced, thousands } from "../base/words.js";

const INTERVAL = 1.96; // standard errors to either side, which are 95%
const MAX_PATHS = 8;
const SMALL = 0.5; // centipawns; less is no change to speak of
const HEADS = ["Weight", "Before", "After", "95% interval", "Clear", "Positions"];
const LEGEND = "Clear: the change is larger than its noise.";

/** The steps of the fit: those of the record, or those heard so far. */
function allSteps({ record, steps }) {
    if (!record) return steps;
    const named = (weights) => Object.fromEntries(record.terms.map((term, index) => [term.name, weights[index]]));
    return record.steps.map((step) => ({ ...step, weights: named(step.weights) }));
}

const axisOf = (steps) => ({ xName: "step", x: [0, Math.max(1, steps.length - 1)] });

/** Both errors by step. */
function errorData(read) {
    const all = allSteps(read);
    const line = (name, colour, field) => ({
        name,
        colour,
        dots: all.length < 40,
        points: all.map((step, index) => [index, step[field]]),
    });
    const series = [line("Training set", COLOURS[0], "train"), line("Validation set", COLOURS[1], "valid")];
    return { series, yName: "error", yDigits: 4, ...axisOf(all) };
}

/** The weights that changed most, by step. */
function pathData(read) {
    const all = allSteps(read);
    if (!all.length) return { series: [] };
    const change = (name) => all.at(-1).weights[name] - all[0].weights[name];
    const names = Object.keys(all[0].weights).filter((name) => Math.abs(change(name)) >= SMALL);
    const largest = names.sort(bySize(change)).slice(0, MAX_PATHS);
    const series = largest.map((name, index) => ({
        name: `${spaced(name)} ${number(change(name), 0, true)}`,
        colour: COLOURS[index],
        points: all.map((step, at) => [at, step.weights[name] - all[0].weights[name]]),
    }));
    return { series, yName: "change of the weight, centipawns", ...axisOf(all) };
}

function verdictOf(summary) {
    const { accepted, gain, gain_error: error, folds, games, positions, seconds, k_before: before, k } = summary;
    const unclear = gain < 0 ? "no better on other games" : "better on other games, but not clearly";
    const quality = accepted ? "clearly better on other games" : unclear;
    const how = folds > 1 ? ` (${folds}-fold cross-validation)` : "";
    const change = `${gain >= 0 ? "fell" : "rose"} by ${Math.abs(gain).toFixed(6)}`;
    return [
        `The new weights are ${quality}${how}: the error ${change} \u00b1 ${(INTERVAL * error).toFixed(6)}.`,
        `${plural(games, "game")}, ${plural(positions, "position")}, ${seconds.toFixed(1)} s.`,
        `K ${before.toFixed(1)} before, ${k.toFixed(1)} after.`,
    ].join(" ");
}

/** Whether a change is clear, in a word; nothing where that is not known. */
const clearWord = (clear) => (clear === null ? "" : clear ? "yes" : "no");

function weightRow(line) {
    const cells = [
        number(line.old),
        h(line.old === line.new ? "td" : "td.strong", number(line.new)),
        `${number(line.low)} .. ${number(line.high)}`,
        clearWord(line.clear),
        thousands(line.positions),
    ];
    return tableRow(spaced(line.name), cells, { title: line.flags.join(", ") });
}

const opened = new Set(); // the titles of the parts that are open

/** A part that its reader may fold away; it stays as it was when the panel is drawn again. */
function folded(title, ...content) {
    const box = details("", { open: opened.has(title) }, title, content);
    box.addEventListener("toggle", () => opened[box.open ? "add" : "delete"](title));
    return box;
}

/** What learning found: the verdict, and weights with their intervals, those that have clearly changed first. */
export function learnedSections({ summary }) {
    const free = summary.weights.filter((line) => !line.flags.includes("frozen"));
    const largest = free.sort(bySize((line) => line.new - line.old)).sort((a, b) => Number(b.clear) - Number(a.clear));
    const rows = largest.map(weightRow);
    return [
        h("p#learn-verdict.summary", verdictOf(summary)),
        folded("All weights", plainTable("learned", HEADS, rows), note(LEGEND)),
    ];
}

const PIECES = { P: "Pawn", N: "Knight", B: "Bishop", R: "Rook", Q: "Queen" };
const orDash = (value, text) => (value === null ? "\u2013" : text(value));

/** What pieces are worth in the games. */
export function pointSections(points) {
    const row = ([letter, name]) => {
        const interval = letter === "P" ? null : points.intervals[letter]; // a pawn is the unit
        return tableRow(name, [
            h("td.strong", orDash(points.values[letter], number)),
            interval ? `${number(interval[0])} .. ${number(interval[1])}` : "",
            orDash(points.other.values[letter], number),
        ]);
    };
    const heads = ["Piece", "Value", "95% interval", "Drawn games as half a point"];
    const of = `${plural(points.games, "game")}, ${thousands(points.vectors)} positions by material alone`;
    const steepness = orDash(points.alpha, (alpha) => alpha.toFixed(3));
    return [
        plainTable("points", heads, Object.entries(PIECES).map(row)),
        note(`${of}; a pawn is 100. Steepness ${steepness} a pawn.`),
    ];
}

/** The charts of what `read` gives: { record, steps }. */
export const chartsOf = (read) => ({
    errors: chart({ label: "Error by step", height: 210, read: () => errorData(read()) }),
    paths: chart({ label: "Weights by step", height: 230, read: () => pathData(read()) }),
});
