// Free mode: pieces from a palette, dragged on, off and about; side to move, castling, en passant.

import { button, byId, checkField, h, replace, say, selectField } from "../base/dom.js";
import { FILES, boardOf, fenOf } from "../base/fen.js";
import { hide } from "../base/focus.js";
import { EMPTY, START, listenTo, setFree, setGame, state } from "../state/store.js";
import { describe, imageOf, nameOf, picture, squareUnder } from "./board.js";

const DRAG_PIXELS = 4; // by which a hand that only clicks may move
const LETTERS = ["KQRBNP", "kqrbnp"];
const CASTLING = [
    ["K", "White O-O"],
    ["Q", "O-O-O"],
    ["k", "Black O-O"],
    ["q", "O-O-O"],
];
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
    const found = { ...parts(), ...change };
    return setFree(`${fenOf(found.pieces)} ${found.turn} ${found.castling || "-"} ${found.passing || "-"} 0 1`);
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
    pieces.set(to, letter);
    put({ pieces });
}

function dragOn(event, letter, button) {
    if (event.button > 0) return;
    isDragged = false;
    const ghost = h("img", { src: imageOf(letter), class: "ghost", alt: "" });
    let moving = false;
    const follow = (moved) => {
        if (!moving) {
            if (Math.hypot(moved.clientX - event.clientX, moved.clientY - event.clientY) < DRAG_PIXELS) return;
            moving = isDragged = true;
            document.body.append(ghost);
        }
        ghost.style.left = `${moved.clientX}px`;
        ghost.style.top = `${moved.clientY}px`;
    };
    const drop = (dropped) => {
        button.removeEventListener("pointermove", follow);
        button.removeEventListener("pointerup", drop);
        button.removeEventListener("pointercancel", drop);
        ghost.remove();
        const square = moving && dropped.type === "pointerup" ? squareUnder(dropped) : null;
        if (square) placeFree(square, letter);
    };
    button.setPointerCapture(event.pointerId);
    button.addEventListener("pointermove", follow);
    button.addEventListener("pointerup", drop);
    button.addEventListener("pointercancel", drop);
}

function choose(letter) {
    brush = brush === letter ? null : letter;
    draw();
}

function paletteButton(letter) {
    const button = h(
        "button",
        {
            type: "button",
            "data-piece": letter,
            title: nameOf(letter),
            onclick: (event) => {
                if (!isDragged || event.detail === 0) choose(letter); // a drag ends in a click too, a key in one of 0
            },
            onpointerdown: (event) => dragOn(event, letter, button),
        },
        picture(letter, 30),
    );
    return button;
}

/** Why no game can begin with the position on the board, in words; null if one can. */
export const whyNoGame = () => state.report?.fault && `This position has no moves: ${state.report.fault}`;

async function toGame() {
    const { report } = state;
    if (report.fault) return;
    await setGame({ fen: report.fen });
}

function palette() {
    const eraser = { type: "button", class: "eraser", "data-piece": "x", title: "Take pieces off" };
    return h(
        "div",
        { class: "palette", role: "group", "aria-label": "Pieces to put on the board" },
        LETTERS.map((row) => h("div", { class: "palette-row" }, [...row].map(paletteButton))),
        h("button", { ...eraser, onclick: () => choose("x") }, "Erase"),
    );
}

function positionFields() {
    const sides = [
        ["w", "White"],
        ["b", "Black"],
    ];
    return h(
        "div",
        { class: "controls fields" },
        button("free-clear", "Clear", () => setFree(EMPTY), { title: "An empty board" }),
        button("free-start", "Start", () => setFree(START), { title: "The starting position" }),
        button("free-play", "Play from here", toGame, { title: "Play legal moves from this position" }),
        selectField("free-turn", "To move", sides, null, (turn) => put({ turn, passing: "-" })),
    );
}

/** Allow or forbid a way to castle. */
function setCastling(letter, isAllowed) {
    const held = parts().castling;
    const letters = CASTLING.map(([each]) => each);
    put({ castling: letters.filter((each) => (each === letter ? isAllowed : held.includes(each))).join("") });
}

function rightFields() {
    /** @param {string[]} right */
    const check = ([letter, name]) =>
        checkField({ "data-castling": letter }, name, false, (isAllowed) => setCastling(letter, isAllowed));
    return h(
        "div",
        { class: "controls fields" },
        h("fieldset", {}, h("legend", {}, "Castling"), CASTLING.map(check)),
        selectField("free-passing", "En passant", [], null, (passing) => put({ passing })),
    );
}

/** Everything once: what is dragged or has the focus must stay while the position changes. */
function build() {
    const hint = "Drag pieces on, off and about; or choose one and click squares. A right click takes a piece off.";
    replace(byId("free-controls"), palette(), positionFields(), rightFields(), h("p", { class: "note" }, hint));
}

function draw() {
    const box = byId("free-controls");
    const isFree = state.mode === "free";
    const others = [byId("game-controls"), byId("move-list")];
    for (const part of isFree ? [box] : others) part.hidden = false;
    for (const part of isFree ? others : [box]) hide(part);
    if (!isFree) {
        brush = null;
        return;
    }
    const { turn, castling, passing } = parts();
    for (const piece of box.querySelectorAll(".palette [data-piece]"))
        piece.setAttribute("aria-pressed", String(piece.dataset.piece === brush));
    for (const check of box.querySelectorAll("[data-castling]"))
        check.checked = castling.includes(check.dataset.castling);
    byId("free-turn").value = turn;
    byId("free-play").disabled = Boolean(state.report?.fault);
    const passable = ["-", ...[...FILES].map((file) => file + (turn === "w" ? 6 : 3))];
    replace(
        byId("free-passing"),
        passable.map((square) => h("option", { value: square }, square === "-" ? "none" : square)),
    );
    byId("free-passing").value = passable.includes(passing) ? passing : "-";
}

export function makeFree() {
    build();
    listenTo(["mode", "report"], draw);
    document.addEventListener("keydown", (event) => {
        if (event.key === "Escape" && brush) choose(brush);
    });
}
