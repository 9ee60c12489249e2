// Below the board: back and forth, flip, Merino's answers; and the moves played, to go back to.

import { channel } from "./api.js";
import { byId, h, replace, segments, showError } from "./dom.js";
import { changed, goTo, listen, numbered, play, question, setFree, setGame, START, state, ways } from "./store.js";

let level = 20;
let sides = "none"; // what Merino plays: none, white or black
let thinking = false;
let link;
let highest = 20;

function answer() {
    if (thinking || state.mode !== "game" || !state.report?.moves.length) return;
    thinking = true;
    link ??= channel("/ws/play", hear);
    link.send({ ...question(), free: false, level, movetime: 1000 });
    draw();
}

function hear(message) {
    if (!thinking) return;
    thinking = false;
    if (message.type === "error") showError(message.error);
    if (message.type === "done" && message.best) play(message.best);
    draw();
}

/** Let Merino move where it is its turn, unless somebody looks back. */
function answerInTurn() {
    if (sides !== "none" && state.mode === "game" && state.at === state.moves.length && state.report?.to_move === sides)
        answer();
}

export const undo = () => goTo(state.at - 1);
export const redo = () => goTo(state.at + 1);

export function flip() {
    state.flipped = !state.flipped;
    changed("view");
}

export function nextWay() {
    const there = ways();
    const at = there.findIndex(([name]) => name === state.way);
    setWay(there[(at + 1) % there.length][0]);
}

function setWay(way) {
    state.way = way;
    state.term = null;
    drawSwitches();
    changed("view", "term");
}

export function setMode(mode) {
    if (mode === state.mode) return;
    if (mode === "free") setFree(state.report?.fen ?? START);
    else if (state.report?.fault) showError(`This position has no moves: ${state.report.fault}`);
    else setGame({ fen: state.free });
}

const names = () => [state.way, ...ways().map(([name]) => name)].join();
let offered = "";

function drawSwitches() {
    segments(
        byId("mode"),
        [
            ["game", "Game", "Legal moves only"],
            ["free", "Free", "Place pieces freely"],
        ],
        state.mode,
        setMode,
    );
    segments(byId("way"), ways(), state.way, setWay);
    offered = names();
}

function draw() {
    const button = (id, text, title, action, disabled) =>
        h("button", { type: "button", id, class: "icon", title, "aria-label": title, disabled, onclick: action }, text);
    const { at, moves } = state;
    replace(
        byId("game-controls"),
        h(
            "div",
            { class: "group" },
            button("first", "\u21e4", "To the start (Home)", () => goTo(0), at === 0),
            button("undo", "\u2190", "Take back (Left, U)", undo, at === 0),
            button("redo", "\u2192", "Replay (Right, R)", redo, at === moves.length),
            button("last", "\u21e5", "To the end (End)", () => goTo(moves.length), at === moves.length),
        ),
        h(
            "div",
            { class: "group" },
            button("flip", "\u21c5", "Turn the board round (F)", flip, false),
            h(
                "button",
                { type: "button", id: "new", title: "The starting position", onclick: () => setGame({ fen: START }) },
                "New",
            ),
        ),
        h(
            "div",
            { class: "group grow" },
            h(
                "button",
                {
                    type: "button",
                    id: "let-move",
                    disabled: thinking || !state.report?.moves.length,
                    title: "Merino makes a move",
                    onclick: answer,
                },
                thinking ? "Thinking" : "Let Merino move",
            ),
            h(
                "label",
                {},
                h("span", {}, "Plays"),
                h(
                    "select",
                    {
                        id: "plays",
                        onchange: (event) => {
                            sides = event.target.value;
                            answerInTurn();
                        },
                    },
                    [
                        ["none", "neither"],
                        ["white", "White"],
                        ["black", "Black"],
                    ].map(([value, name]) => h("option", { value, selected: value === sides }, name)),
                ),
            ),
            h(
                "label",
                {},
                h("span", {}, "Level"),
                h(
                    "select",
                    {
                        id: "level",
                        onchange: (event) => {
                            level = Number(event.target.value);
                        },
                    },
                    Array.from({ length: highest + 1 }, (_, index) =>
                        h("option", { value: index, selected: index === level }, index === highest ? "full" : index),
                    ),
                ),
            ),
        ),
    );
    drawMoves();
}

function drawMoves() {
    const items = [];
    state.moves.forEach((move, index) => {
        const number = numbered(state.fen, index, index === 0);
        if (number) items.push(h("span", { class: "number" }, number));
        items.push(
            h(
                "button",
                {
                    type: "button",
                    class: "plain",
                    "data-ply": index + 1,
                    "aria-current": index + 1 === state.at ? "true" : undefined,
                    onclick: () => goTo(index + 1),
                },
                move.san,
            ),
        );
    });
    const list = byId("move-list");
    replace(list, state.label ? h("b", {}, state.label) : null, items);
    const now = list.querySelector("[aria-current]");
    if (now) list.scrollTop = now.offsetTop - list.offsetTop - list.clientHeight / 2;
}

export function makeControls(highestLevel) {
    highest = level = highestLevel;
    drawSwitches();
    draw();
    listen((topics) => {
        if (topics.has("mode")) {
            drawSwitches();
            if (state.mode === "free") thinking = false;
        }
        if (topics.has("mode") || topics.has("moves")) byId("hint").textContent = "";
        if (topics.has("moves") || topics.has("mode") || topics.has("report")) draw();
        if (topics.has("moves") && thinking) {
            thinking = false;
            link.stop();
        }
        if (topics.has("report") && offered !== names()) drawSwitches();
        if (topics.has("report")) answerInTurn();
    });
}
