// Links to the page: a position, a game or a shared result in the part behind `#`, which any explorer can open.

import { post } from "../base/api.js";
import { tellError } from "../base/dom.js";
import { setFree, setGame, watchBoard } from "../state/store.js";
import { openTab } from "../state/tabs.js";

let asked = 0; // positions by a link

/** The part of a text that is a link to an explorer's page, on whatever port, behind its `#`; null for another text. */
export const fragmentOf = (text) => /^https?:\/\/[^\s#]+\/#((?:fen|taught)=\S+)$/.exec(text.trim())?.[1] ?? null;

/** Show what the part of an address from `#` on asks for; whether that, or something later, is new on the board. */
export async function showLink(fragment) {
    const fields = new URLSearchParams(fragment.replace(/^#/, ""));
    const [fen, taught] = [fields.get("fen"), fields.get("taught")];
    if (!fen && !taught) return false;
    try {
        if (!taught) return await showPosition(fen, fields.get("moves"), fields.get("mode") === "free");
        openTab("learning");
        history.replaceState(null, "", location.pathname);
        await (await import("../panels/teaching.js")).openTaught(taught);
    } catch (error) {
        tellError(error);
    }
    return false;
}

/** Show a position, and moves from there; not where another link was opened meanwhile, or the board changed. */
async function showPosition(text, moves, free) {
    const number = ++asked,
        isAsBefore = watchBoard();
    const [{ fen }] = (await post("/api/read", { text, free })).games;
    const played = moves && !free ? (await post("/api/read", { text: moves, fen })).games[0].moves : [];
    if (number !== asked || !isAsBefore()) return true;
    if (free) await setFree(fen);
    else await setGame({ fen, moves: played });
    return true;
}
