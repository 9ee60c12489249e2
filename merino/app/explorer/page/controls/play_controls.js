// To play against Merino: the dialog that begins a game, and the bar with clocks and what can be done in it.

import { keep, recall } from "../base/browser_storage.js";
import { Drawn, button, byId, checkField, h, options, panelBar, replace, segments, showError } from "../base/dom.js";
import { hide } from "../base/focus.js";
import { hasSound, setSound } from "../base/sound.js";
import { whyNoGame } from "../board/free.js";
import {
    canTakeBack,
    hint,
    isRunning,
    leaveGame,
    opposite,
    rematch,
    resign,
    startGame,
    takeBack,
    timeLeft,
} from "../board/playing.js";
import { evaluations } from "../panels/weights.js";
import { SHOWN, listen, state } from "../state/store.js";

const CLOCKS = [
    [0, 0, "none"],
    [1, 0, "1 minute"],
    [3, 2, "3 minutes + 2 s a move"],
    [10, 5, "10 minutes + 5 s a move"],
    [30, 0, "30 minutes"],
];
const DEFAULTS = { side: "white", level: 10, clock: 0, fromHere: false };
/** @type {(number | null)[]} */
let elos = []; // of each level, null for full strength
const wanted = { ...DEFAULTS, ...recall("play", {}), by: SHOWN };

const label = (text, element) => h("label", {}, h("span", {}, text), element);

/** A choice of what is wanted by this name, which `read` makes of a text. */
function select(id, pairs, name, read = /** @type {(text: string) => any} */ (Number), attributes = {}) {
    const choose = (event) => {
        wanted[name] = read(event.target.value);
    };
    return h("select", { id, ...attributes, onchange: choose }, options(pairs, wanted[name]));
}

const levelName = (level) => (elos[level] === null ? "full strength" : `level ${level}, about ${elos[level]} Elo`);
const levelNames = () => elos.map((_, level) => [level, levelName(level)]);

const chooseSide = (side) => {
    wanted.side = side;
    drawSides();
};

function drawSides() {
    const sides = [
        ["white", "White"],
        ["black", "Black"],
    ];
    segments(byId("play-side"), sides, wanted.side, chooseSide);
}

function begin() {
    const { by, ...kept } = wanted;
    const [minutes, increment] = CLOCKS[wanted.clock];
    keep("play", kept);
    byId("play-dialog").close();
    if (kept.fromHere && whyNoGame()) showError(whyNoGame());
    else startGame({ ...kept, by, minutes, increment });
}

export function askToPlay() {
    const dialog = byId("play-dialog");
    const players = [[SHOWN, "the evaluation shown"], ...evaluations()];
    const clocks = CLOCKS.map(([, , name], index) => [index, name]);
    replace(
        dialog,
        h("h2", { id: "play-title" }, "Play against Merino"),
        h(
            "div",
            { class: "play-form" },
            label(
                "You play",
                h("div", { id: "play-side", class: "segments", role: "radiogroup", "aria-label": "You play" }),
            ),
            label("Level", select("play-level", levelNames(), "level")),
            label("Plays by", select("play-by", players, "by", String)),
            label("Clock", select("play-clock", clocks, "clock")),
            checkField({ id: "play-here" }, "From the position on the board", wanted.fromHere, (isOn) => {
                wanted.fromHere = isOn;
            }),
            checkField({ id: "play-sound" }, "Sound", hasSound(), setSound),
        ),
        panelBar(
            button("play-begin", "Begin", begin, { class: "main" }),
            h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
        ),
    );
    drawSides();
    dialog.showModal();
}

function clockText(side) {
    const seconds = Math.ceil(timeLeft(side) / 1000);
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

const clockClass = (side) => `clock ${isRunning(side) ? "runs" : ""}`;
const clockElement = (side) => [
    h("span", { class: "note" }, side === state.game.side ? "You" : "Merino"),
    h("span", { class: clockClass(side), id: `clock-${side}`, "data-side": side }, clockText(side)),
];

function drawClocks() {
    for (const side of ["white", "black"]) {
        const clock = byId(`clock-${side}`);
        if (!clock) continue;
        clock.textContent = clockText(side);
        clock.className = clockClass(side);
    }
}

const drawn = new Drawn(); // the bar

function draw() {
    const box = byId("play-bar");
    if (!state.game) {
        drawn.forget();
        hide(box);
        return;
    }
    box.hidden = false;
    const { result, side, clock, level } = state.game;
    if (drawn.isNew(result, side, level, clock !== null)) drawBar(box);
    byId("take-back").disabled = !canTakeBack();
    if (!result) byId("hint-move").disabled = state.report?.to_move !== side;
}

function drawBar(box) {
    const { result, side, clock, level } = state.game;
    const who = `You are ${side === "white" ? "White" : "Black"}, Merino plays at ${levelName(level)}.`;
    const back = button("take-back", "Take back", takeBack);
    const during = [back, button("hint-move", "Hint", hint), button("resign", "Resign", resign)];
    const after = [button("rematch", "Rematch", rematch), back];
    replace(
        box,
        clock ? [clockElement(opposite(side)), clockElement(side)] : null,
        h(
            "span",
            { class: "note", id: "play-state", role: "status" },
            result ? `${result.score}: ${result.reason}` : who,
        ),
        h(
            "span",
            { class: "group" },
            result ? after : during,
            button("leave-game", result ? "Analyse" : "Leave", leaveGame),
        ),
    );
}

/** Make them; `levels` are the Elo of each level, null for full strength. */
export function makePlayControls(levels) {
    elos = levels;
    listen((topics) => {
        if (topics.has("clock") && state.game?.clock) drawClocks();
        if (topics.has("play") || topics.has("report")) draw();
    });
    draw();
}
