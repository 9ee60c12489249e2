// The course of a game: White's chances by search, as a graph to go through it by, and its mistakes. What each move has
// lost is searched at once and roughly, and deeper when asked.

import { chart } from "../base/chart.js";
import { byId, h, replace } from "../base/dom.js";
import { afterPress, changeDetector, framed, say } from "../base/flow.js";
import { capital, percent, plural, withMinus } from "../base/words.js";
import { numbered, sideAfter, textOf } from "../base/game.js";
import { Work } from "../base/server.js";
import { isLooked, judgeNow, judged, keepLines, knownOf, note, onLook, verdictOf } from "../state/analysis.js";
import { changed, listen, state, goTo, isUnaided, playLine, wholeGame } from "../state/store.js";
import { proofs, unfolding } from "./verdict.js";

const FIRST_NODES = 2000; // a move, searched without being asked
const MAX_NAMED = 60; // marks that have room for the names of inaccuracies
const MAX_BETTER = 8; // plies of the better line
const KINDS = { inaccuracy: "inaccuracies", mistake: "mistakes", blunder: "blunders" };
const TOPICS = ["report", "tab", "weights", "judge"]; // with which the course may be another

let followed = ""; // the game whose course is shown, as text
let isDue = false; // whether moves of the course are to be searched, once that helps nobody who plays
let draw = () => {};
let isShown = () => false;
let graph;

export const work = new Work("/ws/annotate", { heard: take, ended: endAnnotating });

let by = ""; // who judges in it
let start = ""; // where its game begins
/** @type {any[]} */
let line = []; // its moves
let deepest = 0; // the nodes a move that were asked for, until all moves have been searched so

/**
 * Search every move of the game with so many nodes; with `onlyNew` those that have not been searched, and as deeply as
 * those before where a deeper search of the same game has not ended.
 */
function annotate(wanted, onlyNew = false) {
    keepCommon();
    deepest = onlyNew ? Math.max(wanted, deepest) : wanted;
    const first = onlyNew ? state.moves.findIndex((node) => !isSearched(node)) : 0;
    if (first < 0) return;
    [by, start, line] = [judgeNow(), state.fen, state.moves];
    work.begin({ ...judged(wholeGame()), nodes: deepest, first: first + 1 });
    draw();
}

const isSearched = (node) => verdictOf(node)?.nodes >= deepest;

/** Search no longer what is not of the game on the board, nor by others than who judges now. */
function keepCommon() {
    if (by === judgeNow() && line.every((node, ply) => node === state.moves[ply])) return;
    work.drop();
    if (by !== judgeNow() || start !== state.fen || line[0]?.uci !== state.moves[0]?.uci) deepest = 0;
}

/** Take what the server says of a move. */
function take({ ply, lines, loss, grade, mistake, claims, after }) {
    const node = line[ply - 1];
    if (!node || by !== judgeNow()) return;
    [node.parent, node].forEach((each, at) => lines[at] && keepLines(each, [lines[at]]));
    note(node, lines, { loss, grade, mistake, claims, after, nodes: deepest });
    changed("lines");
}

function endAnnotating() {
    work.drop();
    deepest = 0;
    draw();
    if (isShown()) say(account().join(" "));
}

/** Search the new moves of the course; those of a game that is played once it is over, or of an exercise that is solved. */
function searchDue() {
    if (!isDue || state.mode === "free" || !isLooked() || isUnaided()) return;
    isDue = false;
    annotate(FIRST_NODES, true);
}

/** The moves that something is found of: each with the verdict on it, its ply and how it is written. */
const searchedMoves = () =>
    state.moves.flatMap((node, at) => {
        const verdict = verdictOf(node);
        const title = `${numbered(state.fen, at, true)} ${node.san}${verdict?.grade?.sign ?? ""}`;
        return verdict?.loss === undefined ? [] : { ...verdict, node, ply: at + 1, title, verdict };
    });
const mistakes = () => searchedMoves().filter((move) => move.grade);

/** The score after a move: of the best search, of the end of the game, or as a comment has it. */
const scoreOf = (node) => knownOf(node)[0]?.score ?? verdictOf(node)?.after ?? node.score;

/** White's chances after so many plies, as far as they are known. */
const shareAt = (ply) => scoreOf(state.moves[ply - 1] ?? state.root)?.expected_score;

/** White's chances by search after each ply, in percent, as far as they are known. */
const searchedPoints = () =>
    [state.root, ...state.moves].map((_, ply) => [ply, 100 * shareAt(ply)]).filter(([, share]) => !Number.isNaN(share));

/** A sentence for each side, once all moves are searched: its mistakes, and what it gives away a move. */
function account() {
    const all = searchedMoves();
    if (!all.length || all.length < state.moves.length) return [];
    return ["White", "Black"].map((side) => {
        const own = all.filter(({ ply }) => sideAfter(state.fen, ply - 1) === side.toLowerCase());
        const counts = Object.entries(KINDS).map(([kind, names]) =>
            plural(own.filter((move) => move.grade?.name === kind).length, kind, names),
        );
        const mean = own.reduce((sum, { loss }) => sum + loss, 0) / Math.max(1, own.length);
        return `${side}: ${counts.join(", ")}; loses ${percent(mean, 1)} of a point a move.`;
    });
}

function chances() {
    const ends = [0, Math.max(1, state.moves.length)];
    return [
        { points: ends.map((ply) => [ply, 50]), colour: "var(--faint)" },
        { name: "By search", points: searchedPoints(), colour: "var(--ink)", kind: "area" },
    ];
}

function mark({ node, ply, grade, loss, title }) {
    const isNamed = state.moves.length < MAX_NAMED || grade.name !== "inaccuracy";
    return {
        x: ply,
        y: 100 * scoreOf(node).expected_score,
        kind: grade.name,
        below: sideAfter(state.fen, ply - 1) === "white",
        text: isNamed ? `${node.san}${grade.sign}` : "",
        title: `${title} ${grade.name}, ${percent(loss, 1)} lost`,
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

const stateText = () => (work.isRunning ? `${state.moves.filter(isSearched).length} of ${state.moves.length}` : "");

/** Go to the position in which the line of a claim begins, before the move at this ply or after it, and play the steps. */
function playProof(ply, { fen }, steps) {
    goTo(sideAfter(fen, 0) === sideAfter(state.fen, ply) ? ply : ply - 1);
    playLine(steps);
}

/** Why a move is a mistake, which unfolds what proves it. */
function whyMistake({ mistake, claims }, ply) {
    const said = withMinus(capital(mistake.text));
    if (!claims.length) return h("div.note", { "data-mistake": mistake.kind }, said);
    const { box, summary } = unfolding(".note", { "data-mistake": mistake.kind, title: "What proves it" }, () =>
        proofs(claims, (claim, steps) => playProof(ply, claim, steps)),
    );
    summary.textContent = said;
    return box;
}

/** What is said of a mistake, part by part. */
function wordsFor({ node, grade, loss, title, ply, mistake }) {
    const words = ({ text, expected_score: share }) => `${text} (${percent(share)})`;
    const [better] = knownOf(node.parent);
    const [from, to] = [better.score, scoreOf(node)].map(words);
    return [
        title,
        ` ${grade.name}, ${percent(loss, 1)} lost`,
        `White's score and chances: from ${from} to ${to}`,
        `Better: ${textOf(better.names.slice(0, MAX_BETTER), state.fen, ply - 1)}`,
        mistake?.text,
    ];
}

function mistakeItem(move) {
    const { grade, ply, mistake, verdict } = move;
    const [title, lost, scores, better] = wordsFor(move).map((text) => text && withMinus(text));
    if (mistake) verdict.why ??= whyMistake(verdict, ply); // the same element: it may be unfolded
    return h(
        "li",
        h(`button.plain.strong.${grade.name}`, { onclick: () => goTo(ply) }, h(`i.${grade.name}`), title),
        lost,
        verdict.why,
        h("div.note", scores),
        h("div.note", better),
    );
}

const areMistakesNew = changeDetector();

/** Show the course of the game on the board. */
export function drawCourse() {
    byId("annotate").textContent = work.isRunning ? "Stop" : "Search deeper";
    byId("annotate").classList.toggle("on", work.isRunning);
    drawFound();
}

/** Show what is found of its moves by now. */
function drawFound() {
    byId("annotate-state").textContent = stateText();
    byId("course-account").textContent = account().join(" ");
    const found = mistakes();
    const show = () => replace(byId("mistakes"), found.map(mistakeItem));
    if (areMistakesNew(followed, found.map(wordsFor))) afterPress(byId("mistakes"), show);
    followCourse();
}

const followFound = framed(() => isShown() && graph.checkVisibility() && drawFound());

/** The move that the graph is at, and the chances after it, for those who listen. */
function valueText() {
    const found = searchedMoves().find(({ ply, grade }) => grade && ply === state.at);
    const share = shareAt(state.at);
    const move = state.at ? `${numbered(state.fen, state.at - 1, true)} ${state.moves[state.at - 1].san}` : "Start";
    const name = found ? `${found.title} ${found.grade.name}` : move;
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
        work.isRunning ? endAnnotating() : annotate(Number(byId("annotate-nodes").value));
    draw = redraw;
    listen((topics) => {
        if ((topics.has("moves") || topics.has("judge")) && work.isRunning) {
            keepCommon(); // others may be on the board
            isDue ||= !work.isRunning; // and those of before come back later
        }
        if (topics.has("judge")) isDue = true;
        if (!isShown()) return;
        if (topics.has("lines")) followFound();
        if (TOPICS.some((topic) => topics.has(topic))) follow(topics.has("tab"));
        searchDue();
    });
    onLook(() => isShown() && searchDue());
}

/** Show the course of the game that is on the board now; `isOpened` says that it is seen again. */
function follow(isOpened) {
    const hasCourse = state.mode === "game" && state.moves.length > 0;
    const game = JSON.stringify(wholeGame());
    if (hasCourse && game !== followed) {
        followed = game;
        isDue = true;
        keepCommon();
        draw();
    } else if (isOpened || !hasCourse || !graph.checkVisibility()) draw();
    else followCourse();
}
