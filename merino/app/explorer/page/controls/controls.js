// Below the board: back and forth, flip, and Merino's moves; and the switches above it.

import { byId, keepFocus, segments } from "../base/dom.js";
import { changeDetector, showError } from "../base/flow.js";
import { Work } from "../base/server.js";
import { whyNoGame } from "../board/free.js";
import {
    START,
    changed,
    goTo,
    isUnaided,
    listen,
    play,
    question,
    setFree,
    setGame,
    state,
    ways,
} from "../state/store.js";
import { askToPlay } from "./play.js";

const MOVE_MS = 1000;
const MODES = [
    ["game", "Game", "Legal moves only"],
    ["free", "Free", "Place pieces freely"],
];

const thinking = new Work("/ws/play", { done: (message) => message.best && play(message.best), ended: () => draw() });

const canMove = () => !thinking.isRunning && !isUnaided() && Boolean(state.report?.moves.length);

/** Let Merino make the next move at full strength. */
function answer() {
    if (!canMove() || state.mode !== "game") return;
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
    const there = ways().map(([name]) => name);
    setWay(there[(there.indexOf(state.way) + 1) % there.length]);
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

const areSwitchesNew = changeDetector();

function drawSwitches() {
    if (!areSwitchesNew(state.mode, state.way, ways())) return;
    segments(byId("mode"), MODES, state.mode, setMode);
    segments(byId("way"), ways(), state.way, setWay);
}

function draw() {
    const { at, moves } = state;
    const isDisabled = { first: !at, undo: !at, redo: at === moves.length, last: at === moves.length };
    keepFocus(byId("game-controls"), () => {
        for (const [id, is] of Object.entries({ ...isDisabled, "let-move": !canMove() })) byId(id).disabled = is;
    });
    byId("let-move").firstChild.data = thinking.isRunning ? "Thinking" : "Let Merino move";
}

const ACTIONS = {
    first: () => goTo(0),
    undo,
    redo,
    last: () => goTo(state.moves.length),
    flip,
    new: () => setGame({ fen: START }),
    "let-move": answer,
    play: askToPlay,
};

export function makeControls() {
    for (const [id, action] of Object.entries(ACTIONS)) byId(id).onclick = action;
    drawSwitches();
    draw();
    listen((topics) => {
        if (topics.has("mode") || topics.has("moves")) {
            byId("hint").textContent = "";
            thinking.drop();
        }
        if (topics.has("mode") || topics.has("report")) drawSwitches();
        if (["moves", "mode", "report", "play"].some((topic) => topics.has(topic))) draw();
    });
}
