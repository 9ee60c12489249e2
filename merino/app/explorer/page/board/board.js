// The board: an SVG of our own with the pieces of python-chess, moved by pointer, keyboard or both.

import { byId, h, number, s } from "../base/dom.js";
import { FILES, boardOf } from "../base/fen.js";
import { look } from "../base/look.js";
import { changed, listen, movesFrom, shown, state, shownValue } from "../state/store.js";

const NAMES = { p: "pawn", n: "knight", b: "bishop", r: "rook", q: "queen", k: "king" };
const SMALL = 430; // pixels of width below which figures have one decimal and are larger

let svg, layers, cells;
let pieces = new Map(); // by square: { id, letter, image }
let count = 0;
let small = false;

/** What a person does: the square with the focus, the piece picked up by click or key, and the one that is dragged. */
export const hand = /** @type {{focus: string, chosen: string | null, drag: any, byKeys: boolean}} */ ({
    focus: "e1",
    chosen: null,
    drag: null,
    byKeys: false,
});

export const nameOf = (letter) =>
    `${letter === letter.toUpperCase() ? "white" : "black"} ${NAMES[letter.toLowerCase()]}`;
export const imageOf = (letter) =>
    `${look.pieces}${letter === letter.toUpperCase() ? "w" : "b"}${letter.toUpperCase()}.svg`;

/** Where a square is seen: its column and row, from above on the left. */
export function placeOf(square) {
    const file = FILES.indexOf(square[0]),
        rank = Number(square[1]) - 1;
    return state.flipped ? [7 - file, rank] : [file, 7 - rank];
}

const place = (square) => placeOf(square).map((at) => 100 * at);

/** The square under the pointer, null beside the board. */
export function squareUnder(event) {
    const box = svg.getBoundingClientRect();
    const column = Math.floor((8 * (event.clientX - box.left)) / box.width),
        row = Math.floor((8 * (event.clientY - box.top)) / box.height);
    if (column < 0 || column > 7 || row < 0 || row > 7) return null;
    return state.flipped ? FILES[7 - column] + (row + 1) : FILES[column] + (8 - row);
}

const OUTLINE = 3; // how much wider than an arrow its outline is, both sides together

/** The head of an arrow of a kind; arrows take it by its id. */
const head = (kind) =>
    s(
        "marker",
        {
            id: `head-${kind}`,
            class: `head ${kind}`,
            viewBox: "0 0 10 10",
            refX: 5,
            refY: 5,
            markerWidth: 3.2,
            markerHeight: 3.2,
            orient: "auto-start-reverse",
        },
        s("path", { class: "outline", d: "M0 3.4V0L10 5L0 10V6.6" }), // open where the line comes
        s("path", { d: "M0 0L10 5L0 10z" }),
    );

export function makeBoard() {
    const names = ["squares", "tints", "marks", "coordinates", "arrows", "pieces", "values"];
    layers = Object.fromEntries(
        names.map((name) => [name, s("g", { class: name, "aria-hidden": name === "squares" ? undefined : "true" })]),
    );
    const attributes = { viewBox: "0 0 800 800", class: "board-svg", role: "grid", "aria-label": "Chess board" };
    svg = s("svg", attributes, s("defs", {}, ["tried", "best", "threat"].map(head)), Object.values(layers));
    byId("board").replaceChildren(svg);
    new ResizeObserver(followSize).observe(svg);
    layOut();
    listen(follow);
}

function followSize() {
    const is = svg.clientWidth < SMALL;
    if (is === small) return;
    small = is;
    svg.classList.toggle("small", small);
    drawValues();
    placePieces();
}

const ELSEWHERE = new Set(["clock", "lines", "opening", "play", "tab"]); // topics that change nothing on the board

function follow(topics) {
    if ([...topics].every((topic) => ELSEWHERE.has(topic))) return;
    if (topics.has("arrows")) {
        drawArrows();
        return;
    }
    if (topics.has("view")) {
        const hasFocus = svg.contains(document.activeElement);
        layOut();
        drawPieces();
        if (hasFocus) cellOf(hand.focus)?.focus({ preventScroll: true });
    }
    if (topics.has("moves") || topics.has("mode")) hand.chosen = null;
    if (topics.has("report")) drawPieces();
    if (topics.has("values")) nameSquares();
    drawValues();
    drawMarks();
}

/** The squares and their letters, the way round that the board is shown. */
function layOut() {
    cells = new Map();
    const ranks = state.flipped ? "12345678" : "87654321",
        files = state.flipped ? "hgfedcba" : FILES;
    const rows = [...ranks].map((rank) =>
        s(
            "g",
            { role: "row" },
            [...files].map((file) => {
                const square = file + rank,
                    [x, y] = place(square);
                const dark = (FILES.indexOf(file) + Number(rank)) % 2 === 1;
                const cell = s("rect", {
                    x,
                    y,
                    width: 100,
                    height: 100,
                    class: dark ? "dark" : "light",
                    role: "gridcell",
                    "data-square": square,
                    tabindex: square === hand.focus ? 0 : -1,
                });
                cells.set(square, cell);
                return cell;
            }),
        ),
    );
    layers.squares.replaceChildren(...rows);
    layers.coordinates.replaceChildren(
        ...[...files].map((file, index) => s("text", { x: 100 * index + 94, y: 719, class: "file", text: file })),
        ...[...ranks].map((rank, index) => s("text", { x: 5, y: 100 * index + 19, class: "rank", text: rank })),
    );
}

/** Give each piece of the new board the image it had, so that it is seen to move. */
export function drawPieces() {
    if (!state.report) return;
    const now = boardOf(state.mode === "free" ? state.free : state.report.fen);
    const next = new Map();
    const left = new Map(pieces);
    for (const [square, letter] of now) {
        if (left.get(square)?.letter === letter) {
            next.set(square, left.get(square));
            left.delete(square);
        }
    }
    const missing = [...now].filter(([square]) => !next.has(square));
    const take = (fits) => {
        const found = [...left].find(([, piece]) => fits(piece.letter));
        if (found) left.delete(found[0]);
        return found?.[1];
    };
    for (const [square, letter] of missing) {
        const pawn = letter === letter.toUpperCase() ? "P" : "p";
        const piece = take((other) => other === letter) ?? take((other) => other === pawn && "18".includes(square[1]));
        next.set(square, piece ?? { id: ++count, letter, image: null });
        next.get(square).letter = letter;
    }
    left.forEach((piece) => piece.image?.remove());
    pieces = next;
    placePieces();
    nameSquares();
}

function nameSquares() {
    for (const [square, cell] of cells) cell.setAttribute("aria-label", describe(square));
}

export function placePieces() {
    const bare = state.way === "none" && !state.term;
    const size = bare ? 88 : small ? 70 : 74;
    const [from, to] = hand.drag ? [] : [state.preview?.move.slice(0, 2), state.preview?.move.slice(2, 4)];
    for (const [square, piece] of pieces) {
        const [x, y] = place(square === from ? to : square);
        if (!piece.image) {
            piece.image = s("image", { class: "piece" });
            layers.pieces.append(piece.image);
        }
        piece.image.setAttribute("href", imageOf(piece.letter));
        piece.image.setAttribute("width", size);
        piece.image.setAttribute("height", size);
        if (piece !== hand.drag?.piece || !hand.drag.moving)
            piece.image.style.transform = `translate(${x + (100 - size) / 2}px, ${y + (bare ? 6 : 3)}px)`;
        piece.image.dataset.at = square;
        piece.image.classList.toggle("tried", square === from);
        piece.image.classList.toggle("gone", square === to);
    }
}

function figure(piece) {
    if (state.term) {
        const value = piece.terms[state.term];
        return value === undefined ? null : { text: number(value, 0, true), share: value / termScale() };
    }
    const value = shownValue(piece);
    if (value === null) return { text: "\u2013", share: 0 };
    const share = Math.sign(value) * Math.sqrt(Math.min(1, Math.abs(value) / 10));
    return { text: number(value, small ? 1 : 2, true), share };
}

const termScale = () => Math.max(1, ...shown().pieces.map((piece) => Math.abs(piece.terms[state.term ?? ""] ?? 0)));

/** The colour of a square by the value of its piece alone, opaque, so that the board under it plays no part. */
function tintOf(square, share) {
    const [x, y] = place(square);
    const rect = { x, y, width: 100, height: 100, "data-square": square };
    const strength = (0.12 + 0.88 * Math.min(1, Math.abs(share))).toFixed(3);
    const isTinted = Math.abs(share) > 0.02;
    return [
        s("rect", { ...rect, class: "base" }),
        isTinted ? s("rect", { ...rect, class: share > 0 ? "blue" : "orange", "fill-opacity": strength }) : "",
    ];
}

/** How a tried move changes the value of a piece, as text; null where it hardly does. */
function changeOf(piece, before) {
    const [from, to] = [state.preview.move.slice(0, 2), state.preview.move.slice(2, 4)];
    const old = before.get(piece.square === to ? from : piece.square);
    if (!old || shownValue(old) === null || shownValue(piece) === null) return null;
    const change = shownValue(piece) - shownValue(old);
    return Math.abs(change) >= 0.05 ? number(change, small ? 1 : 2, true) : null;
}

/** The figures under the pieces, and the colours of their squares: those that would be, where a move is tried. */
function drawValues() {
    const report = shown();
    if (!report) return;
    const texts = [],
        tints = [];
    const before = state.preview && new Map(state.report.pieces.map((piece) => [piece.square, piece]));
    for (const piece of state.way !== "none" || state.term ? report.pieces : []) {
        const label = figure(piece);
        if (!label) continue;
        const [x, y] = place(piece.square);
        tints.push(...tintOf(piece.square, label.share));
        texts.push(s("text", { x: x + 50, y: y + 94, "data-square": piece.square, text: label.text }));
        const change = before && !state.term ? changeOf(piece, before) : null;
        if (change) texts.push(s("text", { x: x + 96, y: y + 22, class: "change", text: change }));
    }
    layers.values.replaceChildren(...texts);
    layers.tints.replaceChildren(...tints);
    placePieces();
}

function frame(square, kind) {
    const [x, y] = place(square);
    return s("rect", { x: x + 3, y: y + 3, width: 94, height: 94, rx: 6, class: kind });
}

/** Last move, chosen piece, where it may go, the squares of a term, and the arrow of a tried move. */
export function drawMarks() {
    const marks = [];
    const last = state.mode === "game" && state.at ? state.moves[state.at - 1].uci : null;
    if (last) marks.push(frame(last.slice(0, 2), "last"), frame(last.slice(2, 4), "last"));
    if (state.term && state.report) {
        for (const piece of shown().pieces) if (state.term in piece.terms) marks.push(frame(piece.square, "term"));
    }
    const from = hand.drag?.from ?? hand.chosen;
    if (from) {
        marks.push(frame(from, "chosen"));
        for (const uci of movesFrom(from)) {
            const target = uci.slice(2, 4),
                [x, y] = place(target);
            marks.push(
                pieces.has(target)
                    ? frame(target, "capture")
                    : s("circle", { cx: x + 50, cy: y + 50, r: 13, class: "target" }),
            );
        }
    }
    if (hand.drag?.over) marks.push(frame(hand.drag.over, "over"));
    if (hand.byKeys && svg.contains(document.activeElement)) marks.push(frame(hand.focus, "focus"));
    layers.marks.replaceChildren(...marks);
    drawArrows();
}

const arrows = new Map(); // by who shows them: the analysis, a threat, a hint

/** Show these arrows of a source instead of those before: { uci, kind, share }, where `share` is how strong, 0 to 1. */
export function showArrows(source, shownNow) {
    if (JSON.stringify(arrows.get(source) ?? []) === JSON.stringify(shownNow)) return;
    arrows.set(source, shownNow);
    changed("arrows");
}

/** The arrow of a tried move, or else those of all sources. */
function drawArrows() {
    const tried = state.preview?.move;
    const drawn = tried ? [{ uci: tried, kind: "tried", share: 1 }] : [...arrows.values()].flat();
    layers.arrows.replaceChildren(...(hand.drag ? [] : drawn.map(arrow)));
}

function arrow({ uci, kind, share }) {
    const [x1, y1] = place(uci.slice(0, 2)),
        [x2, y2] = place(uci.slice(2, 4));
    const length = Math.hypot(x2 - x1, y2 - y1) || 1,
        back = 22 / length;
    const ends = {
        x1: x1 + 50,
        y1: y1 + 50,
        x2: x2 + 50 - (x2 - x1) * back,
        y2: y2 + 50 - (y2 - y1) * back,
    };
    const wide = 5 + 6 * share;
    return s(
        "g",
        { class: kind, "data-move": uci },
        s("line", { ...ends, class: "outline", "stroke-width": (wide + OUTLINE).toFixed(1) }),
        s("line", { ...ends, "stroke-width": wide.toFixed(1), "marker-end": `url(#head-${kind})` }),
    );
}

/** A square in words, for screen readers. */
export function describe(square) {
    const piece = pieces.get(square);
    if (!piece) return `${square}, empty`;
    const reported = state.report?.pieces.find((each) => each.square === square);
    const value = reported && state.way !== "none" ? shownValue(reported) : null;
    const worth = value === null ? "" : `, ${number(value, 2, true)} pawns`;
    return `${square}, ${nameOf(piece.letter)}${worth}`;
}

export const picture = (letter, size) =>
    h("img", { src: imageOf(letter), alt: nameOf(letter), width: size, height: size, draggable: "false" });

/** Give the focus of the keyboard to the square that had it last. */
export function focusBoard() {
    hand.byKeys = true;
    cellOf(hand.focus)?.focus();
}

export const boardSvg = () => svg;
export const cellOf = (square) => cells.get(square);
export const pieceOn = (square) => pieces.get(square);
