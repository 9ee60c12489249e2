// Hands on the board: pieces dragged, clicked, or moved by the keyboard.

import { byId } from "../base/dom.js";
import { say, showError } from "../base/flow.js";
import { FILES, isWhite, squaresOf } from "../base/game.js";
import {
    askPromotion,
    boardSvg,
    cellOf,
    describe,
    drawMarks,
    drawPieces,
    hand,
    pieceOn,
    placePieces,
    pointOf,
    squareUnder,
} from "../board/board.js";
import { DRAG_PIXELS, dropFree, eraseFree, placeFree, takesPieces } from "../board/free.js";
import { isMerinosTurn, moveEarly } from "./play.js";
import { edit, isPlaying, isReported, movesFrom, play, preview, refresh, state } from "../state/store.js";
import { explainRefusal } from "./entry.js";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

const isFree = () => state.mode === "free";

/** Let the board that has been made be moved by pointer and keyboard. */
export function makeHands() {
    const svg = boardSvg();
    svg.addEventListener("pointerdown", down);
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerup", up);
    svg.addEventListener("pointercancel", letGo);
    svg.addEventListener("keydown", press);
    svg.addEventListener("keyup", (event) => {
        if (event.key !== "Tab") return;
        hand.byKeys = true;
        drawMarks();
    });
    const place = byId("board"); // Chromium gives the focus to a drawing itself that listens for it
    place.addEventListener("focusin", (event) => {
        if (event.target !== place) focused(event.target.dataset.square);
    });
    place.addEventListener("focusout", () => requestAnimationFrame(drawMarks));
    svg.addEventListener("contextmenu", (event) => event.preventDefault());
}

/** A square has got the focus: say what stands there, and try the move to it. */
function focused(square) {
    cellOf(hand.focus)?.setAttribute("tabindex", -1);
    hand.focus = square;
    cellOf(square).setAttribute("tabindex", 0);
    const uci = hand.chosen && legal(hand.chosen, square)[0];
    say(uci ? `${describe(square)}, can be reached` : describe(square));
    drawMarks();
    if (hand.chosen && !hand.drag) preview(uci ?? null);
}

const legal = (from, to) => movesFrom(from).filter((uci) => squaresOf(uci)[1] === to);

/** Whether a move that is made now is for later: it is Merino's turn, or the last move is not on the board yet. */
const isEarly = () => isMerinosTurn() || (isPlaying() && !isReported() && state.at === state.moves.length);

/** Whether a piece of the user's stands on a square, in a game against Merino. */
const isOwn = (square) => {
    const piece = pieceOn(square);
    return piece !== undefined && isWhite(piece.letter) === (state.game.side === "white");
};

/** Whether a click on a square moves the piece that has been chosen. */
function isTarget(square) {
    if (!hand.chosen || hand.chosen === square) return false;
    if (isFree() || legal(hand.chosen, square).length) return true;
    return isEarly() && isOwn(hand.chosen) && !isOwn(square);
}

/** Choose the piece on a square, or with null none. */
function choose(square) {
    hand.chosen = square;
    if (!square) preview(null);
    drawMarks();
}

/** Let all pieces stand where they are: a move that was tried is not made. */
function putBack() {
    drawPieces();
    choose(null);
}

/** The move that is meant by two squares, after asking what a pawn becomes; null for none, and why is shown. */
async function moveMeant(from, to) {
    const found = legal(from, to);
    if (!found.length) {
        putBack();
        return explainRefusal(from + to);
    }
    if (found.length === 1) return found[0];
    const letter = await askPromotion(pieceOn(from)?.letter ?? "P");
    if (!letter) putBack();
    return letter && found.find((uci) => uci.endsWith(letter));
}

/** Play a move of the board; say why where it is none. */
async function attempt(from, to) {
    choose(null);
    if (from === to) putBack();
    else if (isFree()) dropFree(from, to);
    else if (isEarly()) {
        moveEarly(from + to);
        putBack();
    } else if (!isReported()) {
        const piece = pieceOn(from)?.letter;
        putBack(); // for the board still shows the position before
        showError(null);
        await refresh(); // its report may have failed
        const [uci] = legal(from, to);
        if (uci?.length === 4 && pieceOn(from)?.letter === piece) await play(uci);
    } else {
        const uci = await moveMeant(from, to);
        if (uci) await play(uci);
    }
}

/** The colour that a press draws in, by the keys held with the right button, or as chosen; "" where it moves pieces. */
function colourOf({ button, shiftKey, ctrlKey, altKey }) {
    const chosen = isFree() ? "" : byId("draw").value;
    if (isFree() || button !== 2) return chosen;
    const isRed = shiftKey || ctrlKey;
    return isRed && altKey ? "Y" : isRed ? "R" : altKey ? "B" : chosen || "G";
}

/** Draw from where a press has begun: a circle, or an arrow to another square; what is there in that colour goes. */
function draw(to) {
    const { from, colour } = hand.drawn;
    hand.drawn = null;
    if (!to) return;
    const [name, squares] = from === to ? ["csl", from] : ["cal", from + to];
    edit((move) => {
        const { [name]: before = "", ...others } = move.commands;
        const drawn = before.split(",").filter(Boolean);
        const left = drawn.filter((each) => each.slice(1) !== squares);
        if (!drawn.includes(colour + squares)) left.push(colour + squares);
        move.commands = left.length ? { ...others, [name]: left.join() } : others;
        say(`${name === "csl" ? "Circle on" : "Arrow"} ${squares} ${left.length < drawn.length ? "removed" : "drawn"}`);
    });
}

function down(event) {
    hand.byKeys = false;
    const square = squareUnder(event),
        colour = colourOf(event);
    if (!square || (event.button > 0 && !isFree() && !colour)) return;
    event.preventDefault();
    if (colour) {
        boardSvg().setPointerCapture(event.pointerId);
        hand.drawn = { from: square, colour };
        return;
    }
    if (event.button > 0) {
        eraseFree(square);
        return;
    }
    cellOf(square).focus({ preventScroll: true });
    if (isFree() && takesPieces()) placeFree(square);
    else if (isTarget(square)) attempt(hand.chosen, square);
    else if (!pieceOn(square)) choose(null);
    else {
        boardSvg().setPointerCapture(event.pointerId);
        const start = [event.clientX, event.clientY];
        const wasChosen = hand.chosen === square;
        hand.drag = { from: square, start, moving: false, over: null, wasChosen, piece: pieceOn(square) };
        drawMarks();
    }
}

function move(event) {
    const { drag } = hand;
    if (!drag) return;
    const [x, y] = drag.start;
    if (!drag.moving && Math.hypot(event.clientX - x, event.clientY - y) < DRAG_PIXELS) return;
    drag.moving = true;
    follow(drag.piece.image, event);
    const over = squareUnder(event);
    if (over === drag.over) return;
    drag.over = over;
    preview(over && over !== drag.from ? (legal(drag.from, over)[0] ?? null) : null);
    drawMarks();
}

/** Let a piece follow the pointer. */
function follow(image, event) {
    const [x, y] = pointOf(event),
        half = Number(image.getAttribute("width")) / 2;
    image.classList.add("dragged");
    image.parentNode.append(image);
    image.style.transform = `translate(${x - half}px, ${y - half}px)`;
}

function up(event) {
    if (hand.drawn) draw(squareUnder(event));
    if (!hand.drag) return;
    const { from, moving, wasChosen } = hand.drag;
    const to = squareUnder(event);
    if (moving && to) {
        take();
        attempt(from, to);
    } else if (moving) {
        letGo();
        if (isFree()) eraseFree(from);
    } else {
        take();
        choose(wasChosen ? null : from);
    }
}

/** Take the piece out of the hand. */
function take() {
    hand.drag.piece.image.classList.remove("dragged");
    hand.drag = null;
}

function letGo() {
    hand.drawn = null;
    if (!hand.drag) return;
    take();
    preview(null);
    placePieces();
    drawMarks();
}

/** Go with the focus to the square next to it. */
function step([across, up]) {
    const sign = state.flipped ? -1 : 1;
    const file = FILES[FILES.indexOf(hand.focus[0]) + sign * across],
        rank = Number(hand.focus[1]) + sign * up;
    if (file && rank >= 1 && rank <= 8) cellOf(file + rank).focus();
}

function pickUpOrDrop() {
    const colour = isFree() ? "" : byId("draw").value;
    if (isFree() && takesPieces()) placeFree(hand.focus);
    else if (hand.drawn) draw(hand.focus);
    else if (colour) {
        hand.drawn = { from: hand.focus, colour };
        drawMarks();
    } else if (hand.chosen) attempt(hand.chosen, hand.focus);
    else if (pieceOn(hand.focus)) {
        choose(hand.focus);
        say(`${describe(hand.focus)}, chosen`);
    }
}

function press(event) {
    const { key } = event;
    hand.byKeys = true;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key in STEPS) step(STEPS[key]);
    else if (key === "Enter" || key === " ") pickUpOrDrop();
    else if (key === "Escape" && (hand.chosen || hand.drag || hand.drawn)) {
        letGo();
        choose(null);
    } else if (isFree() && (key === "Delete" || key === "Backspace")) eraseFree(hand.focus);
    else if (isFree() && /^[pnbrqk]$/i.test(key)) placeFree(hand.focus, key);
    else return;
    event.preventDefault();
    event.stopPropagation();
}
