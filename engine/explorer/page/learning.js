// Learning: `learn` on games of the user's, followed step by step; what it found; and what pieces are worth there.

import { channel, get } from "./api.js";
import { COLOURS, chart } from "./chart.js";
import { byId, h, number, openFile, percent, plural, replace, say, showError, spaced } from "./dom.js";
import { catalogue, loadWeights, saveWeights, useWeights } from "./weights.js";
import { listen, state } from "./store.js";

const INTERVAL = 1.96;
const MOST_BYTES = 60e6;
let games = null; // { name, text }
let first = 6;
let target = "result"; // or "search", or "blend", with the share of the result in `blend`
let blend = 0.5;
let phases = null; // values a weight has, 1 or 2; null for as many as at the start
let rescore = null; // nodes that each position is searched for its score; null for the scores in the games
let perGame = null; // positions of a game; null for all
let steps = [];
let record = null;
let learned = null; // the entry of the new weights
let points = null;
let working = null; // "learn" or "points"
let progress = "";
let lines = [];
let links = {};
let draw = () => {};
let charts = {};

function begin(kind) {
    if (games.text.length > MOST_BYTES) {
        showError(`${games.name} is too large for the page: 'merino learn' in a shell takes it`);
        return;
    }
    working = kind;
    progress = "Starting; the first time, this part is compiled before";
    links[kind] ??= channel(`/ws/${kind}`, (message) => hear(kind, message));
    const message = { text: games.text, name: games.name, weights: state.weights, changes: state.changes };
    if (kind === "learn") {
        steps = [];
        lines = [];
        record = learned = null;
        message.first = first;
        message.target = target === "blend" ? `blend=${blend}` : target;
        message.phases = phases;
        message.per_game = perGame;
        message.rescore = target === "result" ? null : rescore;
    } else points = null;
    links[kind].send(message);
    draw();
}

function hear(kind, message) {
    if (message.type === "step") {
        steps.push(message);
        tell();
        charts.errors?.redraw();
        charts.paths?.redraw();
        if (steps.length === 1) draw();
        return;
    }
    if (message.type === "progress") {
        progress = `${message.what}${message.done === null ? "" : ` ${percent(message.done)}`}`;
        tell();
        return;
    }
    if (message.type === "text") {
        lines.push(message.text);
        return;
    }
    if (message.type === "closed" && working !== kind) return;
    if (message.type === "closed") showError("the connection to the server has ended");
    working = null;
    progress = "";
    if (message.type === "error") showError(message.error);
    if (message.type === "done" && kind === "learn") {
        record = message.record;
        learned = message.weights;
        loadWeights().catch((error) => showError(error.message));
        say(message.accepted ? "Learned: better on games not learned from" : "Learned, but not better beyond doubt");
    }
    if (message.type === "done" && kind === "points") {
        points = message.points;
        say("The point values are there");
    }
    draw();
}

function tell() {
    const place = byId("learn-state");
    if (place)
        place.textContent =
            steps.length && working === "learn"
                ? `Step ${steps.length}, error ${steps.at(-1).train.toFixed(6)}. ${progress}`
                : progress;
}

const walked = () =>
    record
        ? record.steps.map((step) => ({
              ...step,
              weights: Object.fromEntries(record.terms.map((term, index) => [term.name, step.weights[index]])),
          }))
        : steps;

function errors() {
    const all = walked();
    return {
        series: [
            {
                name: "Training set",
                colour: COLOURS[0],
                dots: all.length < 40,
                points: all.map((step, index) => [index, step.train]),
            },
            {
                name: "Validation set",
                colour: COLOURS[1],
                dots: all.length < 40,
                points: all.map((step, index) => [index, step.valid]),
            },
        ],
        xName: "step",
        yName: "error",
        yDigits: 4,
        x: [0, Math.max(1, all.length - 1)],
    };
}

function paths() {
    const all = walked();
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

function calibration() {
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

function balances() {
    const graph = points.score_graph;
    const seen = graph.bins.filter((bin) => bin.vectors);
    return {
        series: [
            {
                name: "Mean score of White",
                colour: COLOURS[0],
                kind: "dots",
                points: seen.map((bin) => [bin.balance, bin.score]),
            },
            {
                name: `1 / (1 + exp(\u2212${graph.alpha.toFixed(3)} \u00d7 balance))`,
                colour: COLOURS[1],
                points: graph.bins.map((bin) => [bin.balance, bin.expected]),
            },
        ],
        y: [0, 1],
        xName: "balance of material, 1-3-3-5-9",
        yName: "score of White",
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

/** A field for a whole number, empty for none. */
function countField(id, label, value, most, title, set) {
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
                    event.target.value = value ?? "";
                    return;
                }
                showError(null);
                set(text === "" ? null : number);
            },
        }),
    );
}

function select(id, label, choices, chosen, title, set) {
    return h(
        "label",
        { title },
        `${label} `,
        h(
            "select",
            { id, onchange: (event) => set(event.target.value) },
            choices.map(([value, name]) => h("option", { value, selected: value === chosen }, name)),
        ),
    );
}

/** What is to be predicted and from which positions, as `merino learn` has it. */
function settings() {
    const share = h("input", {
        id: "learn-blend",
        type: "number",
        min: 0,
        max: 1,
        step: 0.05,
        value: blend,
        "aria-label": "Share of the result in the target",
        onchange: (event) => {
            const value = Number(event.target.value);
            if (event.target.value === "" || !(value >= 0 && value <= 1)) {
                showError("the share of the result is a number from 0 to 1");
                event.target.value = blend;
                return;
            }
            showError(null);
            blend = value;
        },
    });
    const rescoring = countField(
        "learn-rescore",
        "Nodes for scores",
        rescore,
        1_000_000,
        "Search each position so long for its score; empty for the scores behind the moves in the games",
        (value) => {
            rescore = value;
        },
    );
    rescoring.querySelector("input").placeholder = "in games";
    return h(
        "div",
        { class: "panel-bar" },
        select(
            "learn-target",
            "Target",
            [
                ["result", "result"],
                ["search", "search"],
                ["blend", "blend"],
            ],
            target,
            "What is to be predicted: the result of the game, what a search says, or a blend of both",
            (value) => {
                target = value;
                draw();
                byId("learn-target").focus();
            },
        ),
        target === "blend" ? h("label", {}, "of the result ", share) : null,
        target === "result" ? null : rescoring,
        select(
            "learn-phases",
            "Phases",
            [
                ["", "as they are"],
                ["1", "1"],
                ["2", "2"],
            ],
            phases === null ? "" : String(phases),
            "One value for each weight, or one for the middlegame and one for the endgame",
            (value) => {
                phases = value === "" ? null : Number(value);
            },
        ),
        countField("learn-per-game", "Positions a game", perGame, 1000, "At most so many of each game, drawn by chance", (value) => {
            perGame = value;
        }),
    );
}

const chosenName = () => catalogue.weights.find((entry) => entry.id === state.weights)?.name ?? "the weights chosen";

/** The lines of the weights, the two values of a term one after the other. */
function inPairs(lines) {
    const base = (line) => line.name.replace(/_[me]g$/, "");
    const order = [...new Set(lines.map(base))];
    return [...lines].sort((a, b) => order.indexOf(base(a)) - order.indexOf(base(b)));
}

function result() {
    const told = record.summary;
    const free = inPairs(told.weights.filter((line) => !line.flags.includes("frozen")));
    const scale = Math.max(...free.flatMap((line) => [line.low, line.high, line.old, line.new].map(Math.abs)), 1);
    const verdict = told.accepted
        ? "better beyond doubt on games not learned from"
        : told.gain < 0
          ? "no better on games not learned from"
          : "better, but not beyond doubt, on games not learned from";
    return [
        h(
            "p",
            { class: "summary", id: "learn-verdict" },
            `The new weights are ${verdict}: the error ${told.gain >= 0 ? "fell" : "rose"} by ${Math.abs(told.gain).toFixed(6)} \u00b1 ${told.gain_error.toFixed(6)}. ${plural(told.games, "game")}, ${plural(told.positions, "position")}, ${told.seconds.toFixed(1)} s. K ${told.k_before.toFixed(1)} before, ${told.k.toFixed(1)} after.`,
        ),
        learned
            ? h(
                  "div",
                  { class: "panel-bar" },
                  h(
                      "button",
                      { type: "button", class: "main", id: "learn-use", onclick: () => useWeights(learned.id) },
                      "Explore with the new weights",
                  ),
                  h(
                      "button",
                      {
                          type: "button",
                          onclick: () => saveWeights(learned.id, {}).catch((error) => showError(error.message)),
                      },
                      "Save as weights file",
                  ),
              )
            : null,
        h(
            "div",
            { class: "scroll" },
            h(
                "table",
                { class: "plain-table", id: "learned" },
                h(
                    "thead",
                    {},
                    h(
                        "tr",
                        {},
                        ["Weight", "Before", "After", "95% interval", "", "Clear", "Positions"].map((head) =>
                            h("th", { scope: "col" }, head),
                        ),
                    ),
                ),
                h(
                    "tbody",
                    {},
                    free.map((line) =>
                        h(
                            "tr",
                            { title: line.flags.join(", ") },
                            h("th", { scope: "row" }, spaced(line.name)),
                            h("td", {}, number(line.old)),
                            h("td", { class: line.old === line.new ? "" : "strong" }, number(line.new)),
                            h("td", {}, `${number(line.low)} .. ${number(line.high)}`),
                            h("td", { class: "range-cell" }, bars(line, scale)),
                            h("td", {}, line.clear === null ? "" : line.clear ? "yes" : "no"),
                            h("td", {}, line.positions.toLocaleString("en")),
                        ),
                    ),
                ),
            ),
        ),
        h(
            "p",
            { class: "note" },
            "Grey mark: before; blue mark and band: after, and its interval. Clear: the change is larger than its noise.",
        ),
        h("h3", {}, "Calibration: points scored against points predicted"),
        charts.calibration,
    ];
}

function pointTable() {
    const letters = ["P", "N", "B", "R", "Q"],
        names = ["Pawn", "Knight", "Bishop", "Rook", "Queen"];
    return [
        h(
            "div",
            { class: "scroll" },
            h(
                "table",
                { class: "plain-table", id: "points" },
                h(
                    "thead",
                    {},
                    h(
                        "tr",
                        {},
                        ["Piece", "Value", "95% interval", "Drawn games as half a point"].map((head) =>
                            h("th", { scope: "col" }, head),
                        ),
                    ),
                ),
                h(
                    "tbody",
                    {},
                    letters.map((letter, index) => {
                        const value = points.values[letter],
                            other = points.other.values[letter],
                            interval = points.intervals[letter];
                        return h(
                            "tr",
                            {},
                            h("th", { scope: "row" }, names[index]),
                            h("td", { class: "strong" }, value === null ? "\u2013" : number(value)),
                            h(
                                "td",
                                {},
                                interval && letter !== "P" ? `${number(interval[0])} .. ${number(interval[1])}` : "",
                            ),
                            h("td", {}, other === null ? "\u2013" : number(other)),
                        );
                    }),
                ),
            ),
        ),
        h(
            "p",
            { class: "note" },
            `${plural(points.games, "game")}, ${points.vectors.toLocaleString("en")} positions by material alone; a pawn is 100. Steepness ${points.alpha === null ? "\u2013" : points.alpha.toFixed(3)} a pawn.`,
        ),
        charts.balance,
    ];
}

export function makeLearning(panel, isShown) {
    charts = {
        errors: chart({ label: "Error by step", height: 210, read: errors }),
        paths: chart({ label: "Weights by step", height: 230, read: paths }),
        calibration: chart({ label: "Calibration", height: 320, read: calibration }),
        balance: chart({ label: "Score by balance of material", height: 260, read: balances }),
    };
    draw = () => {
        if (!isShown()) return;
        const open = async () => {
            try {
                games = await openFile(".pgn,text/plain");
                draw();
            } catch (error) {
                showError(error.message);
            }
        };
        const stop = () => {
            links[working].stop();
        };
        replace(
            panel,
            h(
                "div",
                { class: "panel-bar" },
                h(
                    "button",
                    { type: "button", id: "learn-open", onclick: open },
                    games ? games.name : "Open a PGN file",
                ),
                h(
                    "label",
                    {},
                    "Terms that may move ",
                    h(
                        "select",
                        {
                            id: "learn-first",
                            onchange: (event) => {
                                first = Number(event.target.value);
                            },
                        },
                        h("option", { value: 6, selected: first === 6 }, "positional ones"),
                        h("option", { value: 2, selected: first === 2 }, "pieces' values too"),
                    ),
                ),
                working
                    ? h("button", { type: "button", class: "on", id: "learn-stop", onclick: stop }, "Stop")
                    : [
                          h(
                              "button",
                              {
                                  type: "button",
                                  class: "main",
                                  id: "learn-start",
                                  disabled: !games || !catalogue.has_terms,
                                  onclick: () => begin("learn"),
                              },
                              "Learn the weights",
                          ),
                          h(
                              "button",
                              { type: "button", id: "points-start", disabled: !games, onclick: () => begin("points") },
                              "What pieces are worth",
                          ),
                      ],
                h("span", { class: "note", id: "learn-state", role: "status" }, progress),
            ),
            settings(),
            h(
                "p",
                { class: "note" },
                catalogue.has_terms
                    ? `Learning starts from ${chosenName()}, and changes no file.`
                    : `${chosenName()} has no weights to learn: choose a weights file under Weights.`,
            ),
            steps.length || record
                ? [
                      h(
                          "div",
                          { class: "two charts" },
                          h("section", {}, h("h3", {}, "Error by step"), charts.errors),
                          h("section", {}, h("h3", {}, "Weights by step"), charts.paths),
                      ),
                  ]
                : null,
            record ? result() : null,
            points ? [h("h3", {}, "What pieces are worth in these games"), pointTable()] : null,
        );
        tell();
        for (const each of Object.values(charts)) if (each.isConnected) each.redraw();
    };
    get("/api/learning").then(
        (told) => {
            record ??= told.record;
            draw();
        },
        (error) => showError(error.message),
    );
    listen((topics) => {
        if (topics.has("tab") || topics.has("weights")) draw();
    });
}
