// Below the board: back and forth, flip, and Merino's moves; the switches above it; and the dialog for its looks.

import { byId, changeDetector, keepFocus, replace, segments, showError } from "../base/dom.js";
import { LOOKS, chooseLook, look } from "../base/kept.js";
import { Work } from "../base/server.js";
import { whyNoGame } from "../board/free.js";
import { boardPicture } from "../board/pictures.js";
import {
    START,
    changed,
    goTo,
    isUnaided,
    listen,
    play,
    question,
    refresh,
    setFree,
    setGame,
    state,
    ways,
} from "../state/store.js";
import { askToPlay } from "./play.js";

const MOVE_MS = 1000;
const SAMPLE = "2kr4/1pp2n2/2b5/8/4P3/3BQ3/2NP4/2K1R3 w - - 0 1"; // with a piece of every kind
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

/** Choose, and let all that shows pieces follow. */
function followLook(kind, name) {
    chooseLook(kind, name);
    drawLook();
    changed("view");
    refresh({ silent: true });
}

function drawLook() {
    for (const kind of ["board", "pieces"])
        segments(byId(`look-${kind}`), Object.entries(LOOKS[kind]), look[kind], (name) => followLook(kind, name));
    replace(byId("look-sample"), boardPicture(SAMPLE, "d2d3", 200));
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
    look: () => {
        drawLook();
        byId("look-dialog").showModal();
    },
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
