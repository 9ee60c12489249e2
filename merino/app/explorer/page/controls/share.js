// What the page gives away: FEN, link, moves, PGN, JSON, and the board as SVG.

import { byId, placeByKey, s } from "../base/dom.js";
import { around, guarded, say } from "../base/flow.js";
import { saveFile } from "../base/files.js";
import { listed, ucis } from "../base/game.js";
import { post } from "../base/server.js";
import { boardSvg } from "../board/board.js";
import { playedGames } from "./play.js";
import { playedMoves, shown, state, tagsNow } from "../state/store.js";

const PGN = "application/x-chess-pgn";
// What an element of the saved board keeps of its looks, and what is for the page alone.
const PAINT = "fill fill-opacity stroke stroke-width stroke-opacity stroke-linejoin paint-order opacity display";
const TEXT = "font-family font-size font-weight text-anchor transform";
const PAGES_OWN = ["class", "tabindex", "role", "aria-label", "aria-hidden", "data-square"];

async function copy(text, what) {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
    byId("hint").textContent = `${what} copied.`;
}

/** The address of what is on the board. */
export function link() {
    const { mode, free, fen, at } = state;
    const fields = new URLSearchParams({ fen: mode === "free" ? free : fen });
    if (mode === "free") fields.set("mode", "free");
    else if (at) fields.set("moves", ucis(playedMoves()).join(" "));
    return `${location.origin}/#${fields.toString().replaceAll("+", "%20")}`;
}

/** Write out on a copy how an element is painted, and leave out what is for the page alone. */
function paintAs(element, copied) {
    const style = getComputedStyle(element);
    for (const name of `${PAINT} ${TEXT}`.split(" ")) {
        const computed = style.getPropertyValue(name);
        const value = name === "transform" ? computed.replace(/(\d)px/g, "$1") : computed;
        if (value && value !== "normal" && (value !== "none" || name === "fill")) copied.setAttribute(name, value);
    }
    for (const name of PAGES_OWN) copied.removeAttribute(name);
}

/** The text of an SVG with another width and height than it may have. */
const sized = (text, size) =>
    text.replace(/<svg [^>]*>/, (tag) =>
        tag.replace(/ (width|height)="[^"]*"/g, "").replace("<svg", `<svg width="${size}" height="${size}"`),
    );

/** The board as a picture that stands alone: its colours written out, its pieces inside. */
async function drawing() {
    const original = boardSvg(),
        copied = original.cloneNode(true);
    const theirs = [...copied.querySelectorAll("*")];
    const texts = new Map();
    for (const image of original.querySelectorAll("image")) texts.set(image.getAttribute("href"), "");
    for (const address of texts.keys()) texts.set(address, await (await fetch(address)).text());
    // As text, not as elements: pieces have styles of their own, which the policy keeps out of the page.
    const inside = [];
    [...original.querySelectorAll("*")].forEach((element, index) => {
        const other = theirs[index];
        paintAs(element, other);
        if (element.tagName !== "image") return;
        const number = inside.push(sized(texts.get(element.getAttribute("href")), element.getAttribute("width"))) - 1;
        const transform = element.style.transform.replaceAll("px", "");
        other.replaceWith(s("g", { transform }, document.createComment(String(number))));
    });
    copied.removeAttribute("class");
    for (const [name, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width: 800, height: 800 }))
        copied.setAttribute(name, value);
    return new XMLSerializer().serializeToString(copied).replace(/<!--(\d+)-->/g, (_, index) => inside[index]);
}

/** White and Black by the label of a game. */
function playersOf(label) {
    const [White, Black] = label.split(" - ");
    return White && Black ? { White, Black } : {};
}

/** The game on the board as PGN, with its variations, comments and signs. */
async function pgn() {
    const { fen, root, label } = state;
    const tags = { ...playersOf(label), ...tagsNow() };
    return (await post("/api/pgn/text", { fen, tags, comment: root.comment, moves: listed(root) })).text;
}

/** The day of a moment where the user is, as PGN writes it. */
function dayOf(moment) {
    const day = new Date(moment);
    const numbers = [day.getFullYear(), day.getMonth() + 1, day.getDate()];
    return numbers.map((number) => String(number).padStart(2, "0")).join(".");
}

/** All games against Merino that were finished on this browser. */
async function playedPgn() {
    const texts = playedGames().map(async ({ fen, moves, label, score, at }) => {
        const tags = { Date: dayOf(at), ...playersOf(label), Result: score };
        return (await post("/api/pgn/text", { fen, tags, moves })).text;
    });
    return (await Promise.all(texts)).join("\n");
}

const sans = () => playedMoves().map((move) => move.san);

/** What each item of the menu does. */
const ACTIONS = {
    "copy-fen": () => copy(shown().fen, "FEN"),
    "copy-link": () => copy(link(), "Link"),
    "copy-moves": () => copy(sans().join(" "), "Moves"),
    "save-pgn": async () => saveFile("game.pgn", await pgn(), PGN),
    "save-played": async () => saveFile("played.pgn", await playedPgn(), PGN),
    "save-json": () => saveFile("position.json", JSON.stringify(state.report, null, 2), "application/json"),
    "save-svg": async () => saveFile("board.svg", await drawing(), "image/svg+xml"),
};

function isOpen(opens) {
    byId("share-menu").hidden = !opens;
    byId("share").setAttribute("aria-expanded", String(opens));
}

function closeToButton() {
    isOpen(false);
    byId("share").focus();
}

export function makeShare() {
    const list = byId("share-menu");
    for (const [id, action] of Object.entries(ACTIONS)) {
        const act = guarded(async () => action());
        byId(id).onclick = () => {
            closeToButton();
            act();
        };
    }
    byId("share").onclick = () => {
        isOpen(list.hidden);
        if (!list.hidden) list.children[0].focus();
    };
    list.onkeydown = (event) => {
        const at = [...list.children].indexOf(document.activeElement);
        list.children[placeByKey(event, at, list.children.length) ?? -1]?.focus();
        if (event.key !== "Escape") return;
        closeToButton();
        event.stopPropagation();
    };
    list.addEventListener("focusout", (event) => {
        if (event.relatedTarget && !event.relatedTarget.closest(".menu")) isOpen(false);
    });
    document.addEventListener("pointerdown", (event) => {
        if (!list.hidden && !around(event, ".menu")) isOpen(false);
    });
}
