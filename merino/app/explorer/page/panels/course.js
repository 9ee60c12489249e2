// The course of a game: White's chances by search, as a graph to go through it by, its mistakes, and chosen terms.

import { post } from "../base/api.js";
import { isLooked, onLook } from "../base/attention.js";
import { COLOURS, chart } from "../base/chart.js";
import {
    button,
    byId,
    capital,
    checkField,
    h,
    panelBar,
    pawns,
    percent,
    selectField,
    spaced,
    tellError,
    withMinus,
} from "../base/dom.js";
import { nameOf } from "../board/board.js";
import { annotate, annotation, FIRST_NODES, keepCommon, onAnnotation, stopAnnotating } from "../state/annotating.js";
import { goTo, isUnaided, listen, numbered, sideAfter, state, wholeGame } from "../state/store.js";

const MAX_NAMED = 60; // marks that have room for the names of inaccuracies
const NODES = [FIRST_NODES, 20000, 50000, 200000]; // a move
const TOPICS = ["report", "tab", "weights"]; // with which the course may be another

/** @type {{key: string, points: any[]}} */
let course = { key: "", points: [] };
const terms = new Set();
let nodes = NODES[1];
let isDue = false; // whether moves of the course are to be searched, once that helps nobody who plays
let draw = () => {};
let graph, termGraph;

const key = () => JSON.stringify(wholeGame());

async function askCourse() {
    const wanted = key();
    if (course.key === wanted || state.mode !== "game") return;
    try {
        const { points } = await post("/api/course", wholeGame());
        if (wanted !== key() || course.key === wanted) return; // the same may have been asked for twice
        course = { key: wanted, points };
        isDue = true;
        keepCommon();
        searchDue();
        draw();
    } catch (error) {
        tellError(error);
    }
}

/** Search the new moves of the course; those of a game that is played once it is over, or of an exercise that is solved. */
function searchDue() {
    if (!isDue || state.mode === "free" || course.key !== key() || !isLooked() || isUnaided()) return;
    isDue = false;
    annotate(FIRST_NODES, true);
}

const titleOf = (move) => `${numbered(state.fen, move.ply - 1, true)} ${move.san}${move.grade.sign}`;
const searchedMoves = () => [...annotation.found.values()].sort((a, b) => a.ply - b.ply);
const mistakes = () => searchedMoves().filter((move) => move.grade);

/** White's chances by search after each ply, in percent, as far as they are known. */
function searchedPoints() {
    const moves = searchedMoves();
    const first = moves.slice(0, 1).map((move) => [move.ply - 1, 100 * move.before.expected_score]);
    return [...first, ...moves.map((move) => [move.ply, 100 * move.after.expected_score])];
}

function chances() {
    const searched = searchedPoints();
    const level = course.points.map((_, ply) => [ply, 50]);
    const points = course.points.map((point, ply) => [ply, 100 * point.expected_score]);
    return [
        { points: level, colour: "var(--faint)", kind: "line" },
        { name: "By the evaluation alone", points, colour: "var(--soft)", kind: "dashed" },
        { name: "By search", points: searched, colour: "var(--ink)", kind: "area" },
    ];
}

function marks() {
    return mistakes().map((move) => {
        const isNamed = annotation.found.size < MAX_NAMED || move.grade.name !== "inaccuracy";
        return {
            x: move.ply,
            y: 100 * move.after.expected_score,
            kind: move.grade.name,
            below: sideAfter(state.fen, move.ply - 1) === "white",
            text: isNamed ? `${move.san}${move.grade.sign}` : "",
            title: `${titleOf(move)} ${move.grade.name}, ${percent(move.loss, 1)} lost`,
        };
    });
}

const plies = () => ({ at: state.at, x: [0, Math.max(1, state.moves.length)], xName: "plies" });

function makeGraph() {
    const made = chart({
        label: "White's chances in the course of the game",
        height: 230,
        choose: (x) => goTo(Math.round(x)),
        read: () => ({
            ...plies(),
            series: chances(),
            marks: marks(),
            y: [0, 100],
            yName: "White's chances, %",
            yDigits: 0,
        }),
    });
    made.id = "course";
    made.tabIndex = 0;
    made.setAttribute("role", "slider");
    made.setAttribute("aria-label", "Move of the game");
    made.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1, Home: -state.moves.length, End: state.moves.length }[event.key];
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        goTo(state.at + step);
    });
    return made;
}

function termSeries() {
    return [...terms].map((name, index) => ({
        name: spaced(name),
        colour: COLOURS[index % COLOURS.length],
        points: course.points.map((point, ply) => [ply, (point.terms[name] ?? 0) / 100]),
    }));
}

function makeTermGraph() {
    const made = chart({
        label: "Terms in the course of the game",
        height: 180,
        choose: (x) => goTo(Math.round(x)),
        read: () => ({ ...plies(), series: termSeries(), yName: "pawns for White" }),
    });
    made.id = "course-terms";
    return made;
}

/** The names of the terms that the game has, those that differ most first. */
function termNames() {
    const largest = (name) => Math.max(...course.points.map((point) => Math.abs(point.terms[name] ?? 0)));
    const names = [...new Set(course.points.flatMap((point) => Object.keys(point.terms)))];
    const sizes = new Map(names.map((name) => [name, largest(name)]));
    return names.sort((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0));
}

function annotateBar() {
    const choices = NODES.map((count) => [count, count.toLocaleString("en")]);
    const { isWorking } = annotation;
    const press = () => (annotation.isWorking ? stopAnnotating() : annotate(nodes));
    return panelBar(
        button("annotate", isWorking ? "Stop" : "Search deeper", press, { class: isWorking ? "on" : "" }),
        selectField("annotate-nodes", "Nodes per move", choices, nodes, (value) => {
            nodes = Number(value);
        }),
        h("span", { class: "note", id: "annotate-state" }, stateText()),
    );
}

const stateText = () => (annotation.isWorking ? `${annotation.found.size} of ${state.moves.length}` : "");

const BY_PIECE =
    "How much more its owner has from a piece, in pawns, at the end of the line after the move than at that of the better line";
const PIECE = /([A-Za-z]) ([a-h][1-8])(?:-([a-h][1-8])| (taken|kept))? ([+-]\d+)/g;

/** What the move makes of pieces, in words: "White's pawn on d2 kept +1.61, Black's knight on g8 to f6 \u22120.68". */
function fates(text) {
    const told = text.replace(PIECE, (_, letter, square, to, fate, change) => {
        const [side, name] = nameOf(letter).split(" ");
        return `${capital(side)}'s ${name} on ${square}${to ? ` to ${to}` : fate ? ` ${fate}` : ""} ${pawns(change)}`;
    });
    return h("div", { class: "note", "data-pieces": "", title: BY_PIECE }, `By piece: ${told}`);
}

function mistakeItem(move) {
    const { grade, better, mistake, pieces_text: pieces, before, after } = move;
    const chances = `${before.text} (${percent(before.expected_score)}) to ${after.text} (${percent(after.expected_score)})`;
    const attributes = { type: "button", class: `plain ${grade.name}`, onclick: () => goTo(move.ply) };
    return h(
        "li",
        {},
        h("button", attributes, h("i", { class: grade.name }), titleOf(move)),
        ` ${grade.name}, ${percent(move.loss, 1)} lost`,
        mistake ? h("div", { class: "note", "data-mistake": mistake.kind }, withMinus(capital(mistake.text))) : null,
        h("div", { class: "note" }, withMinus(`White's score and chances: from ${chances}`)),
        pieces ? fates(pieces) : null,
        better.line ? h("div", { class: "note" }, withMinus(`Better ${better.text}: ${better.line}`)) : null,
    );
}

function termChoice(isOpen) {
    const choose = (name, isOn) => {
        if (isOn) terms.add(name);
        else terms.delete(name);
        termGraph.hidden = !terms.size;
        termGraph.redraw();
    };
    const check = (name) =>
        checkField({ "data-term": name }, spaced(name), terms.has(name), (isOn) => choose(name, isOn));
    return h(
        "details",
        { open: isOpen },
        h("summary", {}, "Terms in the course"),
        h("div", { class: "checks" }, termNames().map(check)),
    );
}

/** The elements of the course; `isOpen` keeps the choice of terms open. */
export function courseElements(isOpen) {
    const graded = mistakes();
    const { account } = annotation;
    return [
        graph,
        annotateBar(),
        account.length ? h("p", { class: "summary" }, account.join(" ")) : null,
        graded.length ? h("ol", { class: "mistakes" }, graded.map(mistakeItem)) : null,
        termGraph,
        termChoice(isOpen),
    ];
}

/** The move that the graph is at, and the chances after it, for those who listen. */
function valueText() {
    const found = annotation.found.get(state.at);
    const share = found?.after.expected_score ?? course.points[state.at]?.expected_score;
    const move = state.at ? `${numbered(state.fen, state.at - 1, true)} ${state.moves[state.at - 1].san}` : "Start";
    const name = found?.grade ? `${titleOf(found)} ${found.grade.name}` : move;
    return share === undefined ? name : `${name}, White's chances ${percent(share)}`;
}

/** Follow the game on the board, after `courseElements` have been put in their place. */
export function followCourse() {
    graph.setAttribute("aria-valuemin", 0);
    graph.setAttribute("aria-valuemax", state.moves.length);
    graph.setAttribute("aria-valuenow", state.at);
    graph.setAttribute("aria-valuetext", valueText());
    graph.redraw();
    termGraph.hidden = !terms.size;
    termGraph.redraw();
}

/** Make it; `redraw` shows its elements anew, `isShown` tells whether they are seen. */
export function makeCourse(redraw, isShown) {
    graph = makeGraph();
    termGraph = makeTermGraph();
    draw = redraw;
    onAnnotation((what) => {
        if (!isShown()) return;
        if (what !== "move") draw();
        else if (graph.isConnected) {
            graph.redraw();
            byId("annotate-state").textContent = stateText();
        }
    });
    listen((topics) => {
        if (topics.has("moves") && annotation.isWorking) {
            keepCommon(); // others may be on the board
            isDue ||= !annotation.isWorking; // and those of before come back later
        }
        if (!isShown()) return;
        if (TOPICS.some((topic) => topics.has(topic))) follow(topics.has("tab"));
        searchDue();
    });
    onLook(() => isShown() && searchDue());
}

/** Show the course of the game that is on the board now; `isOpened` tells that it is seen again. */
function follow(isOpened) {
    const hasCourse = state.mode === "game" && state.moves.length > 0;
    if (hasCourse && course.key !== key()) askCourse();
    else if (isOpened || !hasCourse || !graph.isConnected) draw();
    else followCourse();
}
