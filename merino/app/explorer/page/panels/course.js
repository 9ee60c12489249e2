// The course of a game: White's chances by search, as a graph to go through it by, and its mistakes. What each move has
// lost is searched at once and roughly, and deeper when asked.

import { chart } from "../base/chart.js";
import { byId, h, replace } from "../base/dom.js";
import { reportError, say } from "../base/flow.js";
import { capital, percent, withMinus } from "../base/words.js";
import { numbered, sideAfter } from "../base/game.js";
import { Work, post } from "../base/server.js";
import { isLooked, judged, knownOf, onLook } from "../state/analysis.js";
import { listen, state, goTo, isUnaided, playLine, wholeGame } from "../state/store.js";
import { proofs, unfolding } from "./verdict.js";

const FIRST_NODES = 2000; // a move, searched without being asked
const MAX_NAMED = 60; // marks that have room for the names of inaccuracies
const TOPICS = ["report", "tab", "weights", "judge"]; // with which the course may be another

/** @type {{key: string, points: any[]}} */
let course = { key: "", points: [] };
let isDue = false; // whether moves of the course are to be searched, once that helps nobody who plays
let draw = () => {};
let isShown = () => false;
let graph;

const work = new Work("/ws/annotate", {
    heard: (message) => {
        annotation.found.set(message.ply, message);
        if (!isShown() || !graph.checkVisibility()) return;
        graph.redraw();
        byId("annotate-state").textContent = stateText();
    },
    done: (message) => {
        annotation.account = isWhole ? message.account : [];
        say(annotation.account.join(" "));
    },
    ended: endAnnotating,
});

/** `found` has what the server says of each move, by ply; `account` is a sentence for each side. */
export const annotation = {
    found: new Map(),
    account: [],
    get isWorking() {
        return work.isRunning;
    },
};

let conditionsSearched = ""; // the start and the evaluation of what was searched
/** @type {string[]} */
let searched = []; // its moves
let isWhole = true; // whether the search began at the first move
let deepest = 0; // the nodes a move that were asked for, until all moves have been searched so

/**
 * Search every move of the game with so many nodes; with `onlyNew` those that have not been searched, and as deeply as
 * those before where a deeper search of the same game has not ended.
 */
function annotate(wanted, onlyNew = false) {
    const { moves, ...conditions } = judged(wholeGame());
    keepCommon();
    if (!onlyNew) annotation.found.clear();
    conditionsSearched = JSON.stringify(conditions);
    searched = moves;
    if (annotation.found.size === moves.length) return;
    annotation.account = [];
    deepest = onlyNew ? Math.max(wanted, deepest) : wanted;
    isWhole = annotation.found.size === 0;
    work.begin({ ...conditions, moves, nodes: deepest, first: annotation.found.size + 1 });
    draw();
}

/** Forget, and search no longer, what is not of the game on the board. */
function keepCommon() {
    const { moves, ...conditions } = judged(wholeGame());
    const isSame = JSON.stringify(conditions) === conditionsSearched;
    const differs = moves.findIndex((move, index) => move !== searched[index]);
    const common = isSame ? (differs < 0 ? moves.length : differs) : 0;
    if (common < searched.length) work.drop();
    if (common === 0) deepest = 0;
    if (common < Math.max(searched.length, moves.length)) annotation.account = [];
    for (const ply of [...annotation.found.keys()]) if (ply > common) annotation.found.delete(ply);
    searched = searched.slice(0, common);
}

function endAnnotating() {
    work.drop();
    deepest = 0;
    draw();
}

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
        reportError(error);
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

/** White's chances after so many plies: by the search of the board, by that of the game, or as a comment has them. */
function shareAt(ply) {
    const node = state.moves[ply - 1] ?? state.root,
        { found } = annotation;
    const [before, after] = [found.get(ply + 1)?.before, found.get(ply)?.after];
    return knownOf(node)?.share ?? (after ?? before ?? node.score)?.expected_score;
}

/** White's chances by search after each ply, in percent, as far as they are known. */
const searchedPoints = () =>
    [state.root, ...state.moves].map((_, ply) => [ply, 100 * shareAt(ply)]).filter(([, share]) => !Number.isNaN(share));

function chances() {
    const points = course.points.map((point, ply) => [ply, 100 * point.expected_score]);
    return [
        { points: points.map(([ply]) => [ply, 50]), colour: "var(--faint)" },
        { name: "By the evaluation alone", points, colour: "var(--soft)", kind: "dashed" },
        { name: "By search", points: searchedPoints(), colour: "var(--ink)", kind: "area" },
    ];
}

function mark(move) {
    const { ply, san, grade, after, loss } = move;
    const isNamed = annotation.found.size < MAX_NAMED || grade.name !== "inaccuracy";
    return {
        x: ply,
        y: 100 * after.expected_score,
        kind: grade.name,
        below: sideAfter(state.fen, ply - 1) === "white",
        text: isNamed ? `${san}${grade.sign}` : "",
        title: `${titleOf(move)} ${grade.name}, ${percent(loss, 1)} lost`,
    };
}

function makeChances() {
    const axes = { y: [0, 100], yName: "White's chances, %", yDigits: 0, xName: "plies" };
    const read = () => ({
        ...axes,
        ...{ at: state.at, x: [0, Math.max(1, state.moves.length)] },
        ...{ series: chances(), marks: mistakes().map(mark) },
    });
    const label = "White's chances in the course of the game";
    graph = chart({ label, height: 230, choose: (x) => goTo(Math.round(x)), read });
    graph.id = "course";
    for (const [name, value] of Object.entries({ tabindex: 0, role: "slider", "aria-label": "Move of the game" }))
        graph.setAttribute(name, value);
    graph.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1, Home: -state.moves.length, End: state.moves.length }[event.key];
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        goTo(state.at + step);
    });
}

const stateText = () => (annotation.isWorking ? `${annotation.found.size} of ${state.moves.length}` : "");

/** Go to the position in which the line of a claim begins, and play so many of its moves. */
function playProof({ fen }, steps) {
    goTo(course.points.findIndex((point) => point.fen === fen));
    playLine(steps);
}

/** Why a move is a mistake, which unfolds what proves it. */
function whyMistake({ mistake, claims }) {
    const said = withMinus(capital(mistake.text));
    if (!claims.length) return h("div.note", { "data-mistake": mistake.kind }, said);
    const { box, summary } = unfolding(".note", { "data-mistake": mistake.kind, title: "What proves it" }, () =>
        proofs(claims, playProof),
    );
    summary.textContent = said;
    return box;
}

function mistakeItem(move) {
    const { grade, better, mistake, before, after, ply, loss } = move;
    const words = (position) => `${position.text} (${percent(position.expected_score)})`;
    const line = (text) => h("div.note", withMinus(text));
    return h(
        "li",
        h(`button.plain.strong.${grade.name}`, { onclick: () => goTo(ply) }, h(`i.${grade.name}`), titleOf(move)),
        ` ${grade.name}, ${percent(loss, 1)} lost`,
        mistake && whyMistake(move),
        line(`White's score and chances: from ${words(before)} to ${words(after)}`),
        better.line && line(`Better ${better.text}: ${better.line}`),
    );
}

/** Show the course of the game on the board. */
export function drawCourse() {
    const { isWorking, account } = annotation;
    byId("annotate").textContent = isWorking ? "Stop" : "Search deeper";
    byId("annotate").classList.toggle("on", isWorking);
    byId("annotate-state").textContent = stateText();
    byId("course-account").textContent = account.join(" ");
    replace(byId("mistakes"), mistakes().map(mistakeItem));
    followCourse();
}

/** The move that the graph is at, and the chances after it, for those who listen. */
function valueText() {
    const found = annotation.found.get(state.at);
    const share = shareAt(state.at) ?? course.points[state.at]?.expected_score;
    const move = state.at ? `${numbered(state.fen, state.at - 1, true)} ${state.moves[state.at - 1].san}` : "Start";
    const name = found?.grade ? `${titleOf(found)} ${found.grade.name}` : move;
    return share === undefined ? name : `${name}, White's chances ${percent(share)}`;
}

/** Follow the game on the board, whose course is shown. */
function followCourse() {
    const values = { valuemin: 0, valuemax: state.moves.length, valuenow: state.at, valuetext: valueText() };
    for (const [name, value] of Object.entries(values)) graph.setAttribute(`aria-${name}`, value);
    graph.redraw();
}

/** Make it; `redraw` shows it again, `isOpen` says whether it is seen. */
export function makeCourse(redraw, isOpen) {
    isShown = isOpen;
    makeChances();
    byId("game-course").prepend(graph);
    byId("annotate").onclick = () =>
        annotation.isWorking ? endAnnotating() : annotate(Number(byId("annotate-nodes").value));
    draw = redraw;
    listen((topics) => {
        if (topics.has("moves") && annotation.isWorking) {
            keepCommon(); // others may be on the board
            isDue ||= !annotation.isWorking; // and those of before come back later
        }
        if (topics.has("judge")) {
            keepCommon();
            isDue = true;
        }
        if (!isShown()) return;
        if (TOPICS.some((topic) => topics.has(topic))) follow(topics.has("tab"));
        searchDue();
    });
    onLook(() => isShown() && searchDue());
}

/** Show the course of the game that is on the board now; `isOpened` says that it is seen again. */
function follow(isOpened) {
    const hasCourse = state.mode === "game" && state.moves.length > 0;
    if (hasCourse && course.key !== key()) askCourse();
    else if (isOpened || !hasCourse || !graph.checkVisibility()) draw();
    else followCourse();
}
