// What was played in the games that are listed, in the position on the board, however they came to it: the server reads
// them when this is opened, and answers while it reads.

import { byId, h, plainTable, replace, tableRow } from "../base/dom.js";
import { reportError, turns } from "../base/flow.js";
import { percent, plural, thousands } from "../base/words.js";
import { post } from "../base/server.js";
import { listenTo, preview, question } from "../state/store.js";
import { moveButton } from "./moves.js";

const HEADS = ["Move", "Games", "White, draws, Black", "Mean rating", "Also by other moves"];

let tree = ""; // the name by which the server knows it
/** @type {any} */
let source = null; // of the games in it
let listOnly = (_) => {};
const beginAsking = turns();

/** Ask for the moves in the position on the board, and list the games that reach it. */
async function ask() {
    const isLast = beginAsking();
    if (!tree || !byId("tree").open) return;
    const { fen, moves } = question();
    const asked = { tree, fen, moves, player: byId("tree-player").value, side: byId("tree-side").value };
    try {
        const found = await post("/api/tree", asked);
        if (isLast()) show(found);
    } catch (error) {
        if (isLast()) reportError(error);
    }
}

function show({ moves, games, listed, numbers }) {
    byId("tree-state").textContent = `${plural(games, "game")} of ${thousands(listed)} with this position`;
    replace(byId("tree-moves"), moves.length ? plainTable("tree-table", HEADS, moves.map(row)) : null);
    listOnly(numbers);
}

/** A move in figures, which is tried while it is pointed at; a click plays it, and so lists the games that have it. */
function row(move) {
    const { uci, games, white, draws, black, rating, others } = move;
    const ended = Object.entries({ white, draws, black }).map(([kind, count]) => [kind, percent(count / games)]);
    const parts = ended.map(([kind, width]) => h(`i.${kind}`, { style: { width } }));
    const results = [ended.map(([, share]) => share).join(", "), h("span.results", parts)];
    return tableRow(
        moveButton(move),
        [thousands(games), results, rating ?? "\u2013", others ? thousands(others) : ""],
        { onpointerenter: () => preview(uci), onpointerleave: () => preview(null) },
    );
}

/** Let the server read the games that are listed now, and show what is known meanwhile. */
async function read(games) {
    source = games?.source;
    tree = "";
    byId("tree-state").textContent = "";
    replace(byId("tree-moves"));
    for (let at = games ? 0 : null; at !== null; ) {
        const piece = await games.source.moves(at, tree);
        if (source !== games.source) return; // other games are listed by now
        tree = piece.tree;
        at = piece.next;
        await ask();
    }
}

/** Make it; `loaded` gives the games that are listed, `list` shows those with some numbers alone, `isShown` says whether it is seen. */
export function makeTree(loaded, list, isShown) {
    listOnly = list;
    const box = byId("tree");
    const follow = () => {
        if (!box.open || !isShown()) return;
        const games = loaded();
        if (games?.source === source) ask();
        else read(games).catch(reportError);
    };
    box.ontoggle = () => (box.open ? follow() : listOnly(null));
    byId("tree-player").oninput = byId("tree-side").onchange = ask;
    listenTo(["report", "tab"], follow);
    listenTo(["games"], () => loaded()?.source !== source && follow());
}
