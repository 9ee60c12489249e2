// What is on the board survives a reload of the tab, with its variations and a game against Merino.

import { isRecord, keep, recall } from "../base/browser_storage.js";
import { listed, pathTo } from "../base/tree.js";
import { changed, listenTo, openTree, setFree, state } from "./store.js";

const NAME = "board";

function store() {
    const { mode, free, fen, label, tags, game, root, node, flipped } = state;
    const path = pathTo(node).map((move) => move.uci);
    keep(NAME, { mode, free, fen, label, tags, game, flipped, moves: listed(root), path }, "sessionStorage");
}

/** Whether the page was loaded again, so that what the tab showed goes before what its address says. */
export const wasReloaded = () =>
    performance.getEntriesByType("navigation").some((entry) => "type" in entry && entry.type === "reload");

/** Show what the tab showed before it was loaded anew; whether there was anything. */
export async function restoreBoard() {
    const kept = recall(NAME, null, isRecord, "sessionStorage");
    if (!kept) return false;
    state.flipped = kept.flipped;
    state.game = kept.game;
    changed("view");
    if (kept.mode === "free") await setFree(kept.free);
    else await openTree(kept);
    return true;
}

export function makeReload() {
    listenTo(["moves", "mode", "play", "view", "clock"], store);
}
