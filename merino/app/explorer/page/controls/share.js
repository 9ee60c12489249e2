// What the page gives away: FEN, link, moves, JSON, CSV, and the board as SVG or PNG.

import { post } from "../base/api.js";
import { around, byId, h, replace, s, saveFile, say, tellError } from "../base/dom.js";
import { listed } from "../base/tree.js";
import { boardSvg } from "../board/board.js";
import { playedGames } from "../board/playing.js";
import { playedMoves, shown, state, tagsNow } from "../state/store.js";

const SIZE = 1200; // pixels of a PNG
// Columns of the CSV, as a report names them.
const OF_TERMS = ["group", "weight", "white_count", "black_count", "white_cp", "black_cp", "net_cp"];
const OF_PIECES = ["square", "piece", "removal_cp", "relative_pawns", "attributed_cp"];

async function copy(text, what) {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
    byId("hint").textContent = `${what} copied.`;
}

/** The address of what is on the board. */
export function link() {
    const fields = new URLSearchParams({ fen: state.mode === "free" ? state.free : state.fen });
    if (state.mode === "free") fields.set("mode", "free");
    else if (state.at)
        fields.set(
            "moves",
            playedMoves()
                .map((move) => move.uci)
                .join(" "),
        );
    return `${location.origin}/#${fields.toString().replaceAll("+", "%20")}`;
}

function csv() {
    const rows = [
        ["term", ...OF_TERMS],
        ...state.report.terms.map((term) => [term.name, ...OF_TERMS.map((column) => term[column])]),
        [],
        OF_PIECES,
        ...state.report.pieces.map((piece) => OF_PIECES.map((column) => piece[column])), // nothing for null
    ];
    return rows
        .map((row) =>
            row.map((value) => (/[",]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value)).join(","),
        )
        .join("\n");
}

const PAINTED = [
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-opacity",
    "opacity",
    "font-family",
    "font-size",
    "font-weight",
    "text-anchor",
    "transform",
    "display",
    "stroke-linejoin",
    "paint-order",
];

/** Write out on a copy how an element is painted, and leave out what is for the page alone. */
function paintAs(element, copied) {
    const style = getComputedStyle(element);
    for (const name of PAINTED) {
        const value = style.getPropertyValue(name);
        if (value && value !== "none" && value !== "normal")
            copied.setAttribute(name, name === "transform" ? value.replace(/(\d)px/g, "$1") : value);
        else if (name === "fill" && value === "none") copied.setAttribute(name, value);
    }
    for (const name of ["class", "tabindex", "role", "aria-label", "aria-hidden", "data-square"])
        copied.removeAttribute(name);
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
    const mine = [...original.querySelectorAll("*")],
        theirs = [...copied.querySelectorAll("*")];
    const drawn = new Map();
    for (const image of original.querySelectorAll("image")) {
        const address = image.getAttribute("href");
        if (!drawn.has(address)) drawn.set(address, await (await fetch(address)).text());
    }
    const inside = [];
    mine.forEach((element, index) => {
        const other = theirs[index];
        paintAs(element, other);
        if (element.tagName === "image") {
            // As text, not as elements: pieces have styles of their own, which the policy keeps out of the page.
            const size = element.getAttribute("width");
            inside.push(sized(drawn.get(element.getAttribute("href")), size));
            other.replaceWith(
                s(
                    "g",
                    { transform: element.style.transform.replaceAll("px", "") },
                    document.createComment(String(inside.length - 1)),
                ),
            );
        }
    });
    copied.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copied.setAttribute("width", 800);
    copied.setAttribute("height", 800);
    copied.removeAttribute("class");
    return new XMLSerializer().serializeToString(copied).replace(/<!--(\d+)-->/g, (_, index) => inside[index]);
}

function loaded(address) {
    return new Promise((resolve, reject) => {
        const image = new Image();
        image.onload = () => resolve(image);
        image.onerror = () => reject(new Error(`cannot draw ${address}`));
        image.src = address;
    });
}

/** The board painted once more, on a canvas: the policy of the page lets no picture in that the server has not sent. */
async function painting() {
    const canvas = h("canvas", { width: SIZE, height: SIZE }),
        pen = canvas.getContext("2d"),
        original = boardSvg();
    pen.scale(SIZE / 800, SIZE / 800);
    const value = (element, name) => Number(element.getAttribute(name));
    for (const rect of original.querySelectorAll("rect")) {
        const style = getComputedStyle(rect);
        pen.globalAlpha = Number(style.fillOpacity);
        if (style.fill !== "none") {
            pen.fillStyle = style.fill;
            pen.fillRect(value(rect, "x"), value(rect, "y"), value(rect, "width"), value(rect, "height"));
        }
        pen.globalAlpha = 1;
    }
    for (const image of original.querySelectorAll("image")) {
        const [, x, y] = /translate\(([-\d.]+)px, ([-\d.]+)px\)/.exec(image.style.transform) ?? [];
        pen.drawImage(
            await loaded(image.getAttribute("href")),
            Number(x),
            Number(y),
            value(image, "width"),
            value(image, "height"),
        );
    }
    for (const text of original.querySelectorAll("text")) {
        const style = getComputedStyle(text);
        pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
        pen.fillStyle = style.fill;
        pen.textAlign = { middle: "center", end: "right" }[style.textAnchor] ?? "left";
        pen.fillText(text.textContent, value(text, "x"), value(text, "y"));
    }
    return new Promise((resolve) => {
        canvas.toBlob(resolve, "image/png");
    });
}

/** The game on the board as PGN, with its variations, comments and signs. */
async function pgn() {
    const { fen, root, label } = state;
    const [White, Black] = label.split(" - ");
    const named = White && Black ? { White, Black } : {};
    const known = { ...named, ...tagsNow() };
    return (await post("/api/pgn/text", { fen, tags: known, comment: root.comment, moves: listed(root) })).text;
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
        const [White, Black] = label.split(" - ");
        const tags = { Date: dayOf(at), White, Black, Result: score };
        return (await post("/api/pgn/text", { fen, tags, moves })).text;
    });
    return (await Promise.all(texts)).join("\n");
}

const CHOICES = [
    ["copy-fen", "Copy FEN", () => copy(shown().fen, "FEN")],
    ["copy-link", "Copy link", () => copy(link(), "Link")],
    [
        "copy-moves",
        "Copy moves",
        () =>
            copy(
                playedMoves()
                    .map((move) => move.san)
                    .join(" "),
                "Moves",
            ),
    ],
    ["save-pgn", "Save game as PGN", async () => saveFile("game.pgn", await pgn(), "application/x-chess-pgn")],
    [
        "save-played",
        "Save games played",
        async () => saveFile("played.pgn", await playedPgn(), "application/x-chess-pgn"),
    ],
    [
        "save-json",
        "Save JSON",
        () => saveFile("position.json", JSON.stringify(state.report, null, 2), "application/json"),
    ],
    ["save-csv", "Save CSV", () => saveFile("position.csv", csv(), "text/csv")],
    ["save-svg", "Save board as SVG", async () => saveFile("board.svg", await drawing(), "image/svg+xml")],
    ["save-png", "Save board as PNG", async () => saveFile("board.png", await painting(), "image/png")],
];

function isOpen(opens) {
    byId("share-menu").hidden = !opens;
    byId("share").setAttribute("aria-expanded", String(opens));
}

async function take(action) {
    isOpen(false);
    byId("share").focus();
    try {
        await action();
    } catch (error) {
        tellError(error);
    }
}

function press(event, items) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const end = { Home: 0, End: -1 }[event.key];
    if (end !== undefined) items.at(end).focus();
    else if (step) items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus();
    else if (event.key === "Escape") {
        isOpen(false);
        byId("share").focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
}

export function makeShare() {
    const list = byId("share-menu");
    const items = CHOICES.map(([id, title, action]) =>
        h("button", { type: "button", role: "menuitem", id, tabindex: -1, onclick: () => take(action) }, title),
    );
    replace(list, items);
    byId("share").onclick = () => {
        isOpen(list.hidden);
        if (!list.hidden) items[0].focus();
    };
    list.onkeydown = (event) => press(event, items);
    list.addEventListener("focusout", (event) => {
        if (event.relatedTarget && !event.relatedTarget.closest(".menu")) isOpen(false);
    });
    document.addEventListener("pointerdown", (event) => {
        if (!list.hidden && !around(event, ".menu")) isOpen(false);
    });
}
