// Hands on the board: pieces dragged, clicked, or moved by the keyboard.

import { byId, say, showError } from "../base/dom.js";
import { FILES } from "../base/fen.js";
import {
    boardSvg,
    cellOf,
    describe,
    drawMarks,
    drawPieces,
    hand,
    pieceOn,
    placePieces,
    squareUnder,
} from "../board/board.js";
import { dropFree, eraseFree, placeFree, takesPieces } from "../board/free.js";
import { isMerinosTurn, moveEarly } from "../board/playing.js";
import { askPromotion } from "../board/promotion.js";
import { isPlaying, isReported, movesFrom, play, preview, refresh, state } from "../state/store.js";
import { explainRefusal } from "./entry.js";

const DRAG_PIXELS = 4;

/** Let the board that has been made be moved by pointer and keyboard. */
export function makeHands() {
    const svg = boardSvg();
    svg.addEventListener("pointerdown", down);
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerup", up);
    svg.addEventListener("pointercancel", cancel);
    svg.addEventListener("keydown", key);
    svg.addEventListener("keyup", (event) => {
        if (event.key === "Tab") {
            hand.byKeys = true;
            drawMarks();
        }
    });
    const place = byId("board"); // Chromium gives the focus to a drawing itself that listens for it
    place.addEventListener("focusin", (event) => {
        if (event.target !== place) focused(event.target.dataset.square);
    });
    place.addEventListener("focusout", () => requestAnimationFrame(drawMarks));
    svg.addEventListener("contextmenu", (event) => {
        if (state.mode === "free") event.preventDefault();
    });
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

const legal = (from, to) => movesFrom(from).filter((uci) => uci.slice(2, 4) === to);

/** Whether a move that is made now is for later: it is Merino's turn, or the last move is not on the board yet. */
const isEarly = () => isMerinosTurn() || (isPlaying() && !isReported() && state.at === state.moves.length);

/** Whether a piece of the user's stands on a square, in a game against Merino. */
const isOwn = (square) => {
    const letter = pieceOn(square)?.letter;
    return letter !== undefined && (letter === letter.toUpperCase()) === (state.game.side === "white");
};

/** Whether a click on a square moves the piece that has been chosen. */
function isTarget(square) {
    if (!hand.chosen || hand.chosen === square) return false;
    if (state.mode === "free" || legal(hand.chosen, square).length) return true;
    return isEarly() && isOwn(hand.chosen) && !isOwn(square);
}

function putBack() {
    drawPieces();
    drawMarks();
}

/** Play a move of the board, after asking what a pawn becomes; tell why where it is none. */
async function attempt(from, to) {
    hand.chosen = null;
    preview(null);
    if (from === to) {
        drawMarks();
        return;
    }
    if (state.mode === "free") {
        dropFree(from, to);
        return;
    }
    if (isEarly()) {
        moveEarly(from + to);
        putBack();
        return;
    }
    if (!isReported()) {
        putBack(); // for the board still shows the position before
        showError(null);
        await refresh(); // its report may have failed
        return;
    }
    let found = legal(from, to);
    if (found.length > 1) {
        const letter = await askPromotion(pieceOn(from)?.letter ?? "P");
        if (!letter) {
            putBack();
            return;
        }
        found = found.filter((uci) => uci.endsWith(letter));
    }
    if (found.length) {
        await play(found[0]);
        return;
    }
    putBack();
    const meant = await explainRefusal(from + to);
    if (meant) await play(meant);
}

function point(event) {
    const box = boardSvg().getBoundingClientRect();
    return [(800 * (event.clientX - box.left)) / box.width, (800 * (event.clientY - box.top)) / box.height];
}

function down(event) {
    hand.byKeys = false;
    if (event.button > 0) {
        const square = squareUnder(event);
        if (state.mode === "free" && square) {
            event.preventDefault();
            eraseFree(square);
        }
        return;
    }
    const square = squareUnder(event);
    if (!square) return;
    event.preventDefault();
    cellOf(square).focus({ preventScroll: true });
    if (state.mode === "free" && takesPieces()) {
        placeFree(square);
        return;
    }
    if (isTarget(square)) {
        attempt(hand.chosen, square);
        return;
    }
    if (!pieceOn(square)) {
        hand.chosen = null;
        preview(null);
        drawMarks();
        return;
    }
    boardSvg().setPointerCapture(event.pointerId);
    hand.drag = {
        from: square,
        start: [event.clientX, event.clientY],
        moving: false,
        over: null,
        wasChosen: hand.chosen === square,
        piece: pieceOn(square),
    };
    drawMarks();
}

function move(event) {
    if (!hand.drag) return;
    if (
        !hand.drag.moving &&
        Math.hypot(event.clientX - hand.drag.start[0], event.clientY - hand.drag.start[1]) < DRAG_PIXELS
    )
        return;
    hand.drag.moving = true;
    hold(hand.drag.piece.image, event);
    const over = squareUnder(event);
    if (over === hand.drag.over) return;
    hand.drag.over = over;
    preview(over && over !== hand.drag.from ? (legal(hand.drag.from, over)[0] ?? null) : null);
    drawMarks();
}

/** Let a piece follow the pointer. */
function hold(image, event) {
    const [x, y] = point(event),
        size = Number(image.getAttribute("width"));
    image.classList.add("dragged");
    image.parentNode.append(image);
    image.style.transform = `translate(${x - size / 2}px, ${y - size / 2}px)`;
}

function up(event) {
    if (!hand.drag) return;
    const { from, moving, wasChosen, piece } = hand.drag;
    const to = squareUnder(event);
    hand.drag = null;
    piece.image.classList.remove("dragged");
    if (!moving) {
        hand.chosen = wasChosen ? null : from;
        drawMarks();
        return;
    }
    if (to) {
        attempt(from, to);
        return;
    }
    preview(null);
    if (state.mode === "free") {
        eraseFree(from);
        return;
    }
    placePieces();
    drawMarks();
}

function cancel() {
    if (!hand.drag) return;
    hand.drag.piece.image.classList.remove("dragged");
    hand.drag = null;
    preview(null);
    placePieces();
    drawMarks();
}

function key(event) {
    hand.byKeys = true;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (step) {
        const sign = state.flipped ? -1 : 1;
        const file = FILES.indexOf(hand.focus[0]) + sign * step[0],
            rank = Number(hand.focus[1]) + sign * step[1];
        if (file >= 0 && file < 8 && rank >= 1 && rank <= 8) cellOf(FILES[file] + rank).focus();
    } else if (event.key === "Enter" || event.key === " ") {
        if (state.mode === "free" && takesPieces()) placeFree(hand.focus);
        else if (hand.chosen) attempt(hand.chosen, hand.focus);
        else if (pieceOn(hand.focus)) {
            hand.chosen = hand.focus;
            drawMarks();
            say(`${describe(hand.focus)}, chosen`);
        }
    } else if (event.key === "Escape" && (hand.chosen || hand.drag)) {
        hand.chosen = null;
        cancel();
        preview(null);
        drawMarks();
    } else if (state.mode === "free" && (event.key === "Delete" || event.key === "Backspace")) {
        eraseFree(hand.focus);
    } else if (state.mode === "free" && /^[pnbrqk]$/i.test(event.key)) {
        placeFree(hand.focus, event.key);
    } else return;
    event.preventDefault();
    event.stopPropagation();
}
