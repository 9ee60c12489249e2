// The board: an SVG of our own with the pieces of python-chess, moved by pointer, keyboard or both; White's expected score
// as a bar next to it; and the dialog that asks what a pawn becomes.

import { byId, h, placeByKey, replace, s } from "../base/dom.js";
import { framed } from "../base/flow.js";
import { number, percent } from "../base/words.js";
import { FILES, boardOf, isWhite, nameOf, pieceAddress, squaresOf } from "../base/game.js";
import { best, lineOf } from "../state/analysis.js";
import { changed, listen, listenTo, movesFrom, resultOf, shareOf, shown, shownValue, state } from "../state/store.js";

const SMALL = 430; // pixels of width below which figures have one decimal and are larger
const OUTLINE = 3; // how much wider than an arrow its outline is, both sides together
const LAYERS = ["squares", "tints", "marks", "coordinates", "arrows", "shapes", "pieces", "values"];
const SHAPES = /\b[GRYB](?:[a-h][1-8]){1,2}\b/g; // a colour, and a square or two, as PGN has them
const ELSEWHERE = new Set(["clock", "lines", "play", "tab"]); // topics that change nothing on the board

let svg, layers, cells;
let pieces = new Map(); // by square: { letter, image }
let isSmall = false;

/**
 * What a person does: the square with the focus, the piece picked up by click or key, the one that is dragged, and the
 * square and colour from which something is drawn.
 * @type {{focus: string, chosen: string | null, drag: any, drawn: any, byKeys: boolean}}
 */
export const hand = { focus: "e1", chosen: null, drag: null, drawn: null, byKeys: false };

/** Where a square is seen: its column and row, from above on the left. */
export function placeOf(square) {
    const file = FILES.indexOf(square[0]),
        rank = Number(square[1]) - 1;
    return state.flipped ? [7 - file, rank] : [file, 7 - rank];
}

const place = (square) => placeOf(square).map((at) => 100 * at);

/** The place under the pointer on a board of 800 by 800. */
export function pointOf(event) {
    const box = svg.getBoundingClientRect();
    return [(800 * (event.clientX - box.left)) / box.width, (800 * (event.clientY - box.top)) / box.height];
}

/** The square under the pointer, null outside the board. */
export function squareUnder(event) {
    const [column, row] = pointOf(event).map((at) => Math.floor(at / 100));
    if (column < 0 || column > 7 || row < 0 || row > 7) return null;
    return state.flipped ? FILES[7 - column] + (row + 1) : FILES[column] + (8 - row);
}

/** The head of an arrow of a kind; arrows take it by its id. */
const head = (kind) =>
    s(
        `marker#head-${kind}.head.${kind}`,
        { viewBox: "0 0 10 10", refX: 5, refY: 5, markerWidth: 3.2, markerHeight: 3.2, orient: "auto-start-reverse" },
        s("path.outline", { d: "M0 3.4V0L10 5L0 10V6.6" }), // open where the line comes
        s("path", { d: "M0 0L10 5L0 10z" }),
    );

export function makeBoard() {
    const layer = (name) => s(`g.${name}`, { "aria-hidden": name !== "squares" && "true" });
    layers = Object.fromEntries(LAYERS.map((name) => [name, layer(name)]));
    const attributes = { viewBox: "0 0 800 800", role: "grid", "aria-label": "Chess board" };
    const heads = s("defs", ["tried", "best", "threat", "G", "R", "Y", "B"].map(head));
    svg = s("svg.board-svg", attributes, heads, Object.values(layers));
    byId("board").replaceChildren(svg);
    new ResizeObserver(followSize).observe(svg);
    layOut();
    listen(follow);
    listenTo(["report", "preview", "view", "lines"], framed(drawBar));
}

function followSize() {
    if (svg.clientWidth < SMALL === isSmall) return;
    isSmall = !isSmall;
    svg.classList.toggle("small", isSmall);
    drawValues();
}

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
    if (topics.has("report") || !state.report) drawPieces();
    if (topics.has("values")) nameSquares();
    drawValues();
    drawMarks();
}

function cellAt(square) {
    const [x, y] = place(square);
    const kind = (FILES.indexOf(square[0]) + Number(square[1])) % 2 ? "dark" : "light";
    const size = { x, y, width: 100, height: 100 };
    const tabindex = square === hand.focus ? 0 : -1;
    return s(`rect.${kind}`, { ...size, role: "gridcell", "data-square": square, tabindex });
}

/** The squares and their letters, the way round that the board is shown. */
function layOut() {
    const ranks = state.flipped ? [..."12345678"] : [..."87654321"],
        files = state.flipped ? [...FILES].reverse() : [...FILES];
    cells = new Map();
    for (const rank of ranks) for (const file of files) cells.set(file + rank, cellAt(file + rank));
    const row = (rank) =>
        s(
            "g",
            { role: "row" },
            files.map((file) => cells.get(file + rank)),
        );
    layers.squares.replaceChildren(...ranks.map(row));
    layers.coordinates.replaceChildren(
        ...files.map((text, at) => s("text.file", { x: 100 * at + 94, y: 719, text })),
        ...ranks.map((text, at) => s("text.rank", { x: 5, y: 100 * at + 19, text })),
    );
}

/** Give each piece of the new board the image it had, so that it is seen to move. */
export function drawPieces() {
    const now = boardOf(state.mode === "free" ? state.free : (state.report?.fen ?? state.fen));
    const left = new Map(pieces);
    pieces = new Map();
    const take = (square) => {
        const piece = left.get(square);
        left.delete(square);
        return piece;
    };
    for (const [square, letter] of now) if (left.get(square)?.letter === letter) pieces.set(square, take(square));
    for (const [square, letter] of now) {
        if (pieces.has(square)) continue;
        const pawn = isWhite(letter) ? "P" : "p";
        const from = (wanted) => [...left].find(([, piece]) => piece.letter === wanted)?.[0];
        const origin = from(letter) ?? ("18".includes(square[1]) ? from(pawn) : undefined);
        const piece = (origin && take(origin)) ?? { image: s("image.piece") };
        pieces.set(square, Object.assign(piece, { letter }));
    }
    for (const { image } of left.values()) image.remove();
    placePieces();
    nameSquares();
}

function nameSquares() {
    for (const [square, cell] of cells) cell.setAttribute("aria-label", describe(square));
}

export function placePieces() {
    const isBare = state.way === "none" && !state.term;
    const size = isBare ? 88 : isSmall ? 70 : 74;
    const [from, to] = state.preview && !hand.drag ? squaresOf(state.preview.move) : [];
    for (const [square, piece] of pieces) {
        const { image, letter } = piece;
        const [x, y] = place(square === from ? to : square);
        if (!image.parentNode) layers.pieces.append(image);
        for (const [name, value] of Object.entries({ href: pieceAddress(letter), width: size, height: size }))
            image.setAttribute(name, value);
        if (piece !== hand.drag?.piece || !hand.drag.moving)
            image.style.transform = `translate(${x + (100 - size) / 2}px, ${y + (isBare ? 6 : 3)}px)`;
        image.dataset.at = square;
        image.classList.toggle("tried", square === from);
        image.classList.toggle("gone", square === to);
    }
}

const figureOf = (value) => number(value, isSmall ? 1 : 2, true);

/** The text under a piece and the share of the strongest colour; null for none. */
function figure(piece) {
    if (state.term) {
        const value = piece.terms[state.term];
        return value === undefined ? null : { text: number(value, 0, true), share: value / termScale(state.term) };
    }
    const value = shownValue(piece);
    if (value === null) return { text: "\u2013", share: 0 };
    return { text: figureOf(value), share: Math.sign(value) * Math.sqrt(Math.min(1, Math.abs(value) / 10)) };
}

const termScale = (term) => Math.max(1, ...shown().pieces.map((piece) => Math.abs(piece.terms[term] ?? 0)));

/** The colour of a square by the value of its piece alone, opaque, so that the board under it plays no part. */
function tintOf(square, share) {
    const [x, y] = place(square);
    const rect = { x, y, width: 100, height: 100, "data-square": square };
    const strength = (0.12 + 0.88 * Math.min(1, Math.abs(share))).toFixed(3);
    const colour = share > 0 ? "blue" : "orange";
    return [
        s("rect.base", rect),
        ...(Math.abs(share) > 0.02 ? [s(`rect.${colour}`, { ...rect, "fill-opacity": strength })] : []),
    ];
}

/** The values of all pieces before the move that is tried; a function from a piece to what it was, undefined for none. */
export function valuesBefore() {
    if (!state.preview) return () => undefined;
    const [from, to] = squaresOf(state.preview.move);
    const before = new Map(state.report.pieces.map((piece) => [piece.square, shownValue(piece)]));
    return ({ square }) => before.get(square === to ? from : square);
}

/** The figures under the pieces, and the colours of their squares: those that would be, where a move is tried. */
function drawValues() {
    const report = shown();
    if (!report) return;
    const texts = [],
        tints = [],
        before = valuesBefore();
    for (const piece of state.way !== "none" || state.term ? report.pieces : []) {
        const label = figure(piece);
        if (!label) continue;
        const [x, y] = place(piece.square);
        tints.push(...tintOf(piece.square, label.share));
        texts.push(s("text", { x: x + 50, y: y + 94, "data-square": piece.square, text: label.text }));
        const change = state.term ? 0 : (shownValue(piece) ?? Number.NaN) - (before(piece) ?? Number.NaN);
        if (Math.abs(change) >= 0.05) texts.push(s("text.change", { x: x + 96, y: y + 22, text: figureOf(change) }));
    }
    layers.values.replaceChildren(...texts);
    layers.tints.replaceChildren(...tints);
    placePieces();
}

function frame(square, kind) {
    const [x, y] = place(square);
    return s(`rect.${kind}`, { x: x + 3, y: y + 3, width: 94, height: 94, rx: 6 });
}

function target(square) {
    const [x, y] = place(square);
    return pieces.has(square) ? frame(square, "capture") : s("circle.target", { cx: x + 50, cy: y + 50, r: 13 });
}

/** Last move, chosen piece, where it may go, the squares of a term, and the arrow of a tried move. */
export function drawMarks() {
    const { term } = state;
    const last = state.mode === "game" && state.at ? squaresOf(state.moves[state.at - 1].uci) : [];
    const lit = term && state.report ? shown().pieces.filter((piece) => term in piece.terms) : [];
    const from = hand.drag?.from ?? hand.chosen;
    const targets = from ? new Set(movesFrom(from).map((uci) => squaresOf(uci)[1])) : [];
    layers.marks.replaceChildren(
        ...last.map((square) => frame(square, "last")),
        ...lit.map((piece) => frame(piece.square, "term")),
        ...[from, hand.drawn?.from].filter(Boolean).map((square) => frame(square, "chosen")),
        ...[...targets].map(target),
        ...(hand.drag?.over ? [frame(hand.drag.over, "over")] : []),
        ...(hand.byKeys && svg.contains(document.activeElement) ? [frame(hand.focus, "focus")] : []),
    );
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
    const { csl, cal } = state.mode === "game" ? state.node.commands : {};
    layers.shapes.replaceChildren(...(`${csl} ${cal}`.match(SHAPES) ?? []).map(shape));
}

/** A circle on a square, or an arrow between two, that the user has drawn or a PGN has. */
function shape(text) {
    const [kind, squares] = [text[0], text.slice(1)];
    if (squares.length > 2) return arrow({ uci: squares, kind, share: 0.8 });
    const [cx, cy] = place(squares).map((at) => at + 50);
    return s(
        `g.${kind}`,
        { "data-square": squares },
        s("circle.outline", { cx, cy, r: 44 }),
        s("circle", { cx, cy, r: 44 }),
    );
}

function arrow({ uci, kind, share }) {
    const [[x1, y1], [x2, y2]] = squaresOf(uci).map((square) => place(square).map((at) => at + 50));
    const rest = 1 - 22 / (Math.hypot(x2 - x1, y2 - y1) || 1); // before the middle of the last square
    const ends = { x1, y1, x2: x1 + (x2 - x1) * rest, y2: y1 + (y2 - y1) * rest };
    const wide = 5 + 6 * share;
    return s(
        `g.${kind}`,
        { "data-move": uci },
        s("line.outline", { ...ends, "stroke-width": (wide + OUTLINE).toFixed(1) }),
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
    h("img", { src: pieceAddress(letter), alt: nameOf(letter), width: size, height: size, draggable: "false" });

/** Give the focus of the keyboard to the square that had it last. */
export function focusBoard() {
    hand.byKeys = true;
    cellOf(hand.focus)?.focus();
}

export const boardSvg = () => svg;
export const cellOf = (square) => cells.get(square);
export const pieceOn = (square) => pieces.get(square);

/** White's expected score: by the search while there is one, else by the evaluation alone. */
function drawBar() {
    const report = shown();
    if (!report) return;
    const line = state.preview ? lineOf(state.preview.move) : best();
    const share = line ? line.score.expected_score : shareOf(report);
    const formula = `by the evaluation alone, 1 / (1 + exp(-score / ${report.k.toFixed(1)} centipawns))`;
    const source = resultOf(report) ? "the game is over" : line ? `by search to depth ${line.depth}` : formula;
    const bar = byId("expected");
    bar.classList.toggle("flipped", state.flipped);
    bar.firstElementChild.style.height = percent(share, 2);
    bar.lastElementChild.textContent = Math.round(100 * share);
    bar.setAttribute("aria-label", `White's expected score ${percent(share)}`);
    bar.title = `White's expected score, win and half a draw, ${percent(share, 1)}: ${source}`;
}

const PROMOTIONS = { q: "Queen", r: "Rook", b: "Bishop", n: "Knight" };

/** Ask what a pawn becomes: the letter of the piece, small, or null where the dialog was left. */
export function askPromotion(pawn) {
    const dialog = byId("promotion");
    const button = ([letter, title]) =>
        h(
            "button",
            { "data-piece": letter, title, onclick: () => dialog.close(letter) },
            picture(isWhite(pawn) ? letter.toUpperCase() : letter, 56),
            h("span", title),
        );
    const buttons = Object.entries(PROMOTIONS).map(button);
    replace(dialog, buttons);
    dialog.onkeydown = (event) => {
        const next = placeByKey(event, buttons.indexOf(document.activeElement), buttons.length);
        buttons[next ?? -1]?.focus();
        if (event.key.toLowerCase() in PROMOTIONS) dialog.close(event.key.toLowerCase());
        event.stopPropagation();
    };
    dialog.onclick = (event) => event.target === dialog && dialog.close();
    dialog.returnValue = "";
    dialog.showModal();
    const board = byId("board").getBoundingClientRect(),
        own = dialog.getBoundingClientRect();
    dialog.style.left = `${Math.max(8, board.left + (board.width - own.width) / 2)}px`;
    dialog.style.top = `${Math.max(8, board.top + (board.height - own.height) / 2)}px`;
    buttons[0].focus();
    return new Promise((resolve) => {
        dialog.onclose = () => resolve(dialog.returnValue || null);
    });
}
