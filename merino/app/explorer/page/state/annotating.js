// What each move of the game on the board has lost, by search: at once and roughly, and deeper when asked.

import { say } from "../base/dom.js";
import { Work } from "../base/work.js";
import { wholeGame } from "./store.js";

export const FIRST_NODES = 2000; // a move, searched without being asked

const work = new Work("/ws/annotate", {
    told: (message) => {
        annotation.found.set(message.ply, message);
        tell("move");
    },
    done: (message) => {
        annotation.account = isWhole ? message.account : [];
        say(annotation.account.join(" "));
    },
    ended: () => {
        deepest = 0;
        tell("done");
    },
});

/** `found` has what the server tells of each move, by ply; `account` is a sentence for each side. */
export const annotation = {
    found: new Map(),
    account: [],
    get isWorking() {
        return work.isRunning;
    },
};

let key = ""; // the start and the evaluation of what was searched
/** @type {string[]} */
let searched = []; // its moves
let isWhole = true; // whether the search began at the first move
let deepest = 0; // the nodes a move that were asked for, until all moves have been searched so
/** @type {(what: "begun" | "move" | "done") => void} */
let tell = () => {};

/**
 * Search every move of the game with so many nodes; with `onlyNew` those that have not been searched, and as deeply as
 * those before where a deeper search of the same game has not ended.
 */
export function annotate(nodes, onlyNew = false) {
    const { moves, ...conditions } = wholeGame();
    keepCommon();
    if (!onlyNew) annotation.found.clear();
    key = JSON.stringify(conditions);
    searched = moves;
    if (annotation.found.size === moves.length) return;
    annotation.account = [];
    deepest = onlyNew ? Math.max(nodes, deepest) : nodes;
    isWhole = annotation.found.size === 0;
    work.begin({ ...conditions, moves, nodes: deepest, first: annotation.found.size + 1 });
    tell("begun");
}

/** Forget, and search no longer, what is not of the game on the board. */
export function keepCommon() {
    const { moves, ...conditions } = wholeGame();
    const common = JSON.stringify(conditions) === key ? commonLength(moves, searched) : 0;
    if (common < searched.length) work.drop();
    if (common === 0) deepest = 0;
    if (common < Math.max(searched.length, moves.length)) annotation.account = [];
    for (const ply of [...annotation.found.keys()]) if (ply > common) annotation.found.delete(ply);
    searched = searched.slice(0, common);
}

function commonLength(moves, others) {
    const at = moves.findIndex((move, index) => move !== others[index]);
    return at < 0 ? moves.length : at;
}

export function stopAnnotating() {
    if (!annotation.isWorking) return;
    work.drop();
    deepest = 0;
    tell("done");
}

/** Call `listener` with what has happened: "begun", "move" or "done". */
export function onAnnotation(listener) {
    tell = listener;
}
