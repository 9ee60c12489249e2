// Below the board: back and forth, flip, and Merino's moves; and the switches above it.

import { Drawn, byId, h, replace, segments, showError } from "../base/dom.js";
import { Work } from "../base/work.js";
import { whyNoGame } from "../board/free.js";
import {
    changed,
    goTo,
    isUnaided,
    listen,
    play,
    question,
    setFree,
    setGame,
    START,
    state,
    ways,
} from "../state/store.js";
import { askToPlay } from "./play_controls.js";

const MOVE_MS = 1000;

const thinking = new Work("/ws/play", {
    done: (message) => {
        if (message.best) play(message.best);
    },
    ended: () => draw(),
});

/** Let Merino make the next move at full strength. */
function answer() {
    if (thinking.isRunning || isUnaided() || state.mode !== "game" || !state.report?.moves.length) return;
    thinking.begin({ ...question(), free: false, movetime: MOVE_MS });
    draw();
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
    else if (whyNoGame()) showError(whyNoGame());
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

const button = (id, text, title, onclick, disabled = false, kind = "icon") =>
    h(
        "button",
        { type: "button", id, class: kind, title, "aria-label": kind ? title : undefined, disabled, onclick },
        text,
    );

const drawn = new Drawn(); // the buttons below the board

function draw() {
    const { at, moves, report } = state;
    const canMove = !thinking.isRunning && !isUnaided() && Boolean(report?.moves.length);
    if (!drawn.isNew(at === 0, at === moves.length, thinking.isRunning, canMove)) return;
    replace(
        byId("game-controls"),
        h(
            "div",
            { class: "group" },
            button("first", "\u21e4", "To the start (Home)", () => goTo(0), at === 0),
            button("undo", "\u2190", "Take back (Left, U)", undo, at === 0),
            button("redo", "\u2192", "Replay (Right, R)", redo, at === moves.length),
            button("last", "\u21e5", "To the end (End)", () => goTo(state.moves.length), at === moves.length),
        ),
        h(
            "div",
            { class: "group" },
            button("flip", "\u21c5", "Turn the board round (F)", flip),
            button("new", "New", "The starting position", () => setGame({ fen: START }), false, ""),
            button(
                "let-move",
                thinking.isRunning ? "Thinking" : "Let Merino move",
                "Merino makes a move",
                answer,
                !canMove,
                "",
            ),
            button("play", "Play", "Play against Merino (P)", askToPlay, false, ""),
        ),
    );
}

export function makeControls() {
    drawSwitches();
    draw();
    listen((topics) => {
        if (topics.has("mode")) {
            drawSwitches();
            if (state.mode === "free") thinking.drop();
        }
        if (topics.has("mode") || topics.has("moves")) byId("hint").textContent = "";
        if (topics.has("moves")) thinking.drop();
        if (["moves", "mode", "report", "play"].some((topic) => topics.has(topic))) draw();
        if (topics.has("report") && offered !== names()) drawSwitches();
    });
}
