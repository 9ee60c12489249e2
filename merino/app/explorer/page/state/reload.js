// What is on the board survives a reload of the tab, or a way away and back, with its variations and a game against Merino.

import { isRecord, keep, recall } from "../base/browser_storage.js";
import { listed, pathTo } from "../base/tree.js";
import { changed, listenTo, openTree, setFree, state } from "./store.js";

const NAME = "board";

function store() {
    const { mode, free, fen, label, tags, read, game, root, node, flipped } = state;
    const path = pathTo(node).map((move) => move.uci);
    const { hash } = location;
    const tree = { comment: root.comment, moves: listed(root), path };
    keep(NAME, { hash, mode, free, fen, label, tags, read, game, flipped, ...tree }, "sessionStorage");
}

const recalled = () => recall(NAME, null, isRecord, "sessionStorage");

/**
 * Whether the page was loaded again, by a reload or by going back or forward to the address at which it was left, so
 * that what the tab showed goes before what its address says.
 */
export function wasReloaded() {
    const ways = performance.getEntriesByType("navigation").map((entry) => "type" in entry && entry.type);
    return ways.includes("reload") || (ways.includes("back_forward") && recalled()?.hash === location.hash);
}

/** Show what the tab showed before it was loaded anew; whether there was anything. */
export async function restoreBoard() {
    const kept = recalled();
    if (!kept) return false;
    state.flipped = kept.flipped;
    state.game = kept.game;
    changed("view");
    if (kept.mode === "free") await setFree(kept.free);
    else await openTree(kept);
    return true;
}

/** Keep what is on the board from now on; at once where an older board is kept, which a reload would bring back. */
export function makeReload() {
    if (recalled()) store();
    listenTo(["moves", "mode", "play", "view", "clock"], store);
}
