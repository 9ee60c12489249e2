// Below the board: back and forth, and flip; and the switches above it.

import { byId, keepFocus, segments } from "../base/dom.js";
import { changeDetector, showError } from "../base/flow.js";
import { whyNoGame } from "../board/free.js";
import { START, changed, goTo, listen, setFree, setGame, state, ways } from "../state/store.js";
import { askToPlay } from "./play.js";

const MODES = [
    ["game", "Game", "Legal moves only"],
    ["free", "Free", "Place pieces freely"],
];

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
        for (const [id, is] of Object.entries(isDisabled)) byId(id).disabled = is;
    });
}

const ACTIONS = {
    first: () => goTo(0),
    undo,
    redo,
    last: () => goTo(state.moves.length),
    flip,
    new: () => setGame({ fen: START }),
    play: askToPlay,
};

export function makeControls() {
    for (const [id, action] of Object.entries(ACTIONS)) byId(id).onclick = action;
    drawSwitches();
    draw();
    listen((topics) => {
        if (topics.has("mode") || topics.has("moves")) byId("hint").textContent = "";
        if (["mode", "report", "view"].some((topic) => topics.has(topic))) drawSwitches();
        if (["moves", "mode", "report", "play"].some((topic) => topics.has(topic))) draw();
    });
}
