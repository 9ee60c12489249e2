// Free mode: pieces from a palette, dragged on, off and about; side to move, castling, en passant.

import { byId, h, hide, options, replace } from "../base/dom.js";
import { say } from "../base/flow.js";
import { FILES, boardOf, fenOf, nameOf } from "../base/game.js";
import { EMPTY, START, listenTo, setFree, setGame, state } from "../state/store.js";
import { describe, picture, squareUnder } from "./board.js";

export const DRAG_PIXELS = 4; // by which a hand that only clicks may move
/** @type {any} */
let brush = null; // the piece that a click puts down, or "x" to take off
let isDragged = false; // whether a piece of the palette has left it since it was pressed

/** Whether a click on a square puts a piece down rather than picking one up. */
export const takesPieces = () => brush !== null;

function parts() {
    const [, turn = "w", castling = "-", passing = "-"] = state.free.split(" ");
    return { pieces: boardOf(state.free), turn, castling, passing };
}

function put(change) {
    const { pieces, turn, castling, passing } = { ...parts(), ...change };
    return setFree(`${fenOf(pieces)} ${turn} ${castling || "-"} ${passing || "-"} 0 1`);
}

/** Put the piece of the palette, or another, on a square. */
export async function placeFree(square, letter = brush) {
    const { pieces } = parts();
    if (letter === "x" || pieces.get(square) === letter) pieces.delete(square);
    else pieces.set(square, letter);
    await put({ pieces });
    say(describe(square));
}

export function eraseFree(square) {
    const { pieces } = parts();
    if (pieces.delete(square)) put({ pieces });
}

/** Move a piece, over whatever stands there. */
export function dropFree(from, to) {
    const { pieces } = parts();
    const letter = pieces.get(from);
    if (!letter) return;
    pieces.delete(from);
    put({ pieces: pieces.set(to, letter) });
}

function dragOn(event, letter, button) {
    if (event.button > 0) return;
    isDragged = false;
    const ghost = picture(letter, 60);
    ghost.className = "ghost";
    const ended = new AbortController();
    const follow = ({ clientX, clientY }) => {
        if (!isDragged && Math.hypot(clientX - event.clientX, clientY - event.clientY) < DRAG_PIXELS) return;
        isDragged = true;
        document.body.append(ghost);
        Object.assign(ghost.style, { left: `${clientX}px`, top: `${clientY}px` });
    };
    const drop = (dropped) => {
        ended.abort();
        ghost.remove();
        const square = isDragged && dropped.type === "pointerup" ? squareUnder(dropped) : null;
        if (square) placeFree(square, letter);
    };
    button.setPointerCapture(event.pointerId);
    button.addEventListener("pointermove", follow, { signal: ended.signal });
    for (const end of ["pointerup", "pointercancel"]) button.addEventListener(end, drop, { signal: ended.signal });
}

function choose(letter) {
    brush = brush === letter ? null : letter;
    draw();
}

function paletteButton(letter) {
    const button = h("button", { "data-piece": letter, title: nameOf(letter) }, picture(letter, 30));
    button.onclick = (event) => {
        if (!isDragged || event.detail === 0) choose(letter); // a drag ends in a click too, a key in one of 0
    };
    button.onpointerdown = (event) => dragOn(event, letter, button);
    return button;
}

/** Why no game can begin with the position on the board, in words; null if one can. */
export const whyNoGame = () => state.report?.fault && `This position has no moves: ${state.report.fault}`;

/** What is dragged or has the focus must stay while the position changes: only what may be chosen is drawn again. */
function draw() {
    const isFree = state.mode === "free";
    const [box, ...others] = [byId("free-controls"), byId("game-controls"), byId("move-list")];
    for (const part of isFree ? [box] : others) part.hidden = false;
    for (const part of isFree ? others : [box]) hide(part);
    if (!isFree) {
        brush = null;
        return;
    }
    const { turn, castling, passing } = parts();
    for (const piece of box.querySelectorAll("[data-piece]"))
        piece.setAttribute("aria-pressed", String(piece.dataset.piece === brush));
    for (const check of box.querySelectorAll("[data-castling]"))
        check.checked = castling.includes(check.dataset.castling);
    byId("free-turn").value = turn;
    byId("free-play").disabled = Boolean(state.report?.fault);
    const squares = [...FILES].map((file) => file + (turn === "w" ? 6 : 3));
    const passable = [["-", "none"], ...squares.map((square) => [square, square])];
    replace(byId("free-passing"), options(passable, squares.includes(passing) ? passing : "-"));
}

export function makeFree() {
    const box = byId("free-controls"),
        checks = [...box.querySelectorAll("[data-castling]")];
    for (const row of ["KQRBNP", "kqrbnp"])
        byId("free-eraser").before(h("div.palette-row", [...row].map(paletteButton)));
    byId("free-eraser").onclick = () => choose("x");
    byId("free-clear").onclick = () => setFree(EMPTY);
    byId("free-start").onclick = () => setFree(START);
    byId("free-play").onclick = () => state.report.fault || setGame({ fen: state.report.fen });
    byId("free-turn").onchange = (event) => put({ turn: event.target.value, passing: "-" });
    byId("free-passing").onchange = (event) => put({ passing: event.target.value });
    const allowed = () => checks.filter((each) => each.checked).map((each) => each.dataset.castling);
    for (const check of checks) check.onchange = () => put({ castling: allowed().join("") });
    listenTo(["mode", "report"], draw);
    document.addEventListener("keydown", (event) => {
        if (event.key === "Escape" && brush) choose(brush);
    });
}
