// The course of a game: its evaluation and chosen terms as a graph to go through it by, and its mistakes.

import { channel, post } from "./api.js";
import { COLOURS, chart } from "./chart.js";
import { byId, h, percent, say, showError, spaced } from "./dom.js";
import { goTo, listen, state } from "./store.js";

const MAX_PAWNS = 10;
const MAX_NAMED = 60; // marks that have room for the names of inaccuracies
const GRADES = { blunder: "#d0384f", mistake: "#e0812a", inaccuracy: "#c4a021" };
const NODES = [2000, 20000, 50000, 200000];

let course = { key: "", points: [] };
let terms = new Set();
let found = new Map(); // by ply: what annotate tells
let account = [];
let working = false;
let nodes = 20000;
let link;
let draw = () => {};
let graph;

const uciMoves = () => state.moves.map((move) => move.uci);
const key = () => JSON.stringify([state.fen, uciMoves(), state.weights, state.changes]);
const asked = () => ({ fen: state.fen, moves: uciMoves(), weights: state.weights, changes: state.changes });

async function askCourse() {
    const wanted = key();
    if (course.key === wanted || state.mode !== "game") return;
    const line = JSON.stringify([state.fen, uciMoves()]);
    try {
        const { points } = await post("/api/course", asked());
        if (wanted !== key()) return;
        if (course.line !== line) {
            found = new Map();
            account = [];
            stop();
        }
        course = { key: wanted, line, points };
        draw();
    } catch (error) {
        showError(error.message);
    }
}

function stop() {
    if (working) {
        working = false;
        link.stop();
    }
}

function annotate() {
    if (working) {
        stop();
        draw();
        return;
    }
    found = new Map();
    account = [];
    working = true;
    link ??= channel("/ws/annotate", hear);
    link.send({ ...asked(), nodes });
    draw();
}

function hear(message) {
    if (message.type === "move") {
        if (!working) return;
        found.set(message.ply, message);
        graph?.redraw();
        byId("annotate-state").textContent = `${message.ply} of ${state.moves.length}`;
        return;
    }
    if (message.type === "done" && working) {
        account = message.account;
        say(account.join(" "));
    }
    if (message.type === "error") showError(message.error);
    working = false;
    draw();
}

const moveNumber = (ply) => {
    const [, turn, , , , full] = state.fen.split(" ");
    const half = 2 * (Number(full) - 1) + (turn === "b" ? 1 : 0) + ply - 1;
    return `${Math.floor(half / 2) + 1}${half % 2 ? "..." : "."}`;
};

const clip = (value) => Math.max(-MAX_PAWNS, Math.min(MAX_PAWNS, value));
const mistakes = () => [...found.values()].filter((move) => move.grade).sort((a, b) => a.ply - b.ply);

function series() {
    const points = course.points.map((point, ply) => [ply, clip(point.score_cp / 100)]);
    const lines = [{ name: "Static score", points, colour: "var(--ink)", kind: "area" }];
    const searched = [...found.values()].map(({ ply, after }) => [
        ply,
        clip(after.text.includes("M") ? (after.text.startsWith("-") ? -MAX_PAWNS : MAX_PAWNS) : Number(after.text)),
    ]);
    if (searched.length) lines.push({ name: "Searched", points: searched, colour: COLOURS[2], kind: "line" });
    [...terms].forEach((name, index) =>
        lines.push({
            name: spaced(name),
            colour: COLOURS[[0, 1, 3, 4, 5, 6][index % 6]],
            points: course.points.map((point, ply) => [ply, (point.terms[name] ?? 0) / 100]),
        }),
    );
    return lines;
}

function marks() {
    return mistakes().map((move) => {
        const isWhite = (move.ply + (state.fen.split(" ")[1] === "b" ? 1 : 0)) % 2 === 1;
        const isNamed = found.size < MAX_NAMED || move.grade.name !== "inaccuracy";
        return {
            x: move.ply,
            y: clip(course.points[move.ply].score_cp / 100),
            kind: move.grade.name,
            below: isWhite,
            text: isNamed ? `${move.san}${move.grade.sign}` : "",
            title: `${titleOf(move)} ${move.grade.name}, ${percent(move.loss, 1)} lost`,
        };
    });
}

const titleOf = (move) => `${moveNumber(move.ply)} ${move.san}${move.grade.sign}`;

function makeGraph() {
    const made = chart({
        label: "The course of the evaluation",
        height: 270,
        choose: (x) => goTo(Math.round(x)),
        read: () => ({
            series: series(),
            marks: marks(),
            at: state.at,
            x: [0, Math.max(1, state.moves.length)],
            xName: "plies",
            yName: "pawns for White",
            yDigits: 0,
        }),
    });
    made.id = "course";
    made.tabIndex = 0;
    made.setAttribute("role", "slider");
    made.setAttribute("aria-label", "Ply of the game");
    made.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1, Home: -state.moves.length, End: state.moves.length }[event.key];
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        goTo(state.at + step);
    });
    return made;
}

/** The names of the terms that the game has, those that differ most first. */
function termNames() {
    const largest = (name) => Math.max(...course.points.map((point) => Math.abs(point.terms[name] ?? 0)));
    return [...new Set(course.points.flatMap((point) => Object.keys(point.terms)))]
        .map((name) => [name, largest(name)])
        .sort((a, b) => b[1] - a[1])
        .map(([name]) => name);
}

function annotateBar() {
    const choose = (event) => {
        nodes = Number(event.target.value);
    };
    const option = (count) => h("option", { value: count, selected: count === nodes }, count.toLocaleString("en"));
    const kind = working ? "on" : "main";
    return h(
        "div",
        { class: "panel-bar" },
        h("button", { type: "button", id: "annotate", class: kind, onclick: annotate }, working ? "Stop" : "Find mistakes"),
        h(
            "label",
            {},
            "Nodes per move ",
            h("select", { id: "annotate-nodes", onchange: choose }, NODES.map(option)),
        ),
        h("span", { class: "note", id: "annotate-state" }, working ? `${found.size} of ${state.moves.length}` : ""),
    );
}

function mistakeItem(move) {
    const { grade, better, mistake } = move;
    return h(
        "li",
        {},
        h(
            "button",
            { type: "button", class: `plain ${grade.name}`, onclick: () => goTo(move.ply) },
            h("i", { style: { background: GRADES[grade.name] } }),
            titleOf(move),
        ),
        ` ${grade.name}, ${percent(move.loss, 1)} lost`,
        mistake ? h("div", { class: "note", "data-mistake": mistake.kind }, mistake.text) : null,
        better.line ? h("div", { class: "note" }, `Better ${better.text}: ${better.line}`) : null,
    );
}

function termChoice(isOpen) {
    const choose = (name, isOn) => {
        if (isOn) terms.add(name);
        else terms.delete(name);
        graph.redraw();
    };
    const check = (name) =>
        h("input", {
            type: "checkbox",
            "data-term": name,
            checked: terms.has(name),
            onchange: (event) => choose(name, event.target.checked),
        });
    return h(
        "details",
        { open: isOpen },
        h("summary", {}, "Terms in the graph"),
        h("div", { class: "checks" }, termNames().map((name) => h("label", {}, check(name), spaced(name)))),
    );
}

/** The elements of the course; `isOpen` keeps the choice of terms open. */
export function courseElements(isOpen) {
    const graded = mistakes();
    return [
        graph,
        annotateBar(),
        account.length ? h("p", { class: "summary" }, account.join(" ")) : null,
        graded.length ? h("ol", { class: "mistakes" }, graded.map(mistakeItem)) : null,
        termChoice(isOpen),
    ];
}

/** Follow the game on the board, after `courseElements` have been put in their place. */
export function followCourse() {
    graph.setAttribute("aria-valuemin", 0);
    graph.setAttribute("aria-valuemax", state.moves.length);
    graph.setAttribute("aria-valuenow", state.at);
    graph.redraw();
}

/** Make it; `redraw` shows its elements anew, `isShown` tells whether they are seen. */
export function makeCourse(redraw, isShown) {
    graph = makeGraph();
    draw = redraw;
    listen((topics) => {
        if (!isShown() || !(topics.has("report") || topics.has("tab") || topics.has("weights"))) return;
        if (state.moves.length && course.key !== key()) askCourse();
        else if (topics.has("tab") || !state.moves.length) draw();
        else followCourse();
    });
}
