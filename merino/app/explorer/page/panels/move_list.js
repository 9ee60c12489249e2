// The moves of the game on the board: the main line, its variations in brackets, comments and signs; and what edits them.

import { byId, h, keepFocus, replace } from "../base/dom.js";
import { afterPress, framed } from "../base/flow.js";
import { percent } from "../base/words.js";
import { numbered, pathTo, promote, remove } from "../base/game.js";
import { knownOf, verdictOf } from "../state/analysis.js";
import { edit, goToNode, isUnaided, listen, redoEdit, state, undoEdit } from "../state/store.js";

const GRADES = 6; // the signs from ! to ?!, of which a move has one, come before all others
let signs = {}; // by their numbers
const heading = h("b");
const buttons = new Map(); // of the moves that are listed
/** @type {any} */
let commented = null; // the move that the comment is of which is being typed

const signsOf = (move) =>
    move.nags.map((nag) => signs[nag] ?? ` $${nag}`).join("") || (verdictOf(move)?.grade?.sign ?? "");
/** The clock after a move, or else the time that it took, without the hours where there are none. */
const timeOf = ({ clk, emt }) => (clk ?? emt)?.replace(/^0+:0?(?=\d)/, "");
const commentElement = (text) => (text ? h("span.comment", text) : null);

function buttonOf(move, attributes) {
    const made = h("button.plain", attributes, move.san + signsOf(move));
    buttons.set(move, made);
    return made;
}

/** Write the signs of the moves as they are by now, and what the move on the board gives away. */
const showGrades = framed(() => {
    for (const [move, { firstChild }] of buttons) {
        const text = move.san + signsOf(move);
        if (firstChild.data !== text) firstChild.data = text;
    }
    showGrade();
});

function moveElements(move, ply, isFirst) {
    const number = numbered(state.fen, ply, isFirst);
    const at = state.moves.indexOf(move);
    const attributes = {
        "data-ply": at >= 0 ? at + 1 : undefined,
        "aria-current": move === state.node ? "true" : undefined,
        onclick: () => goToNode(move),
    };
    return [
        commentElement(move.before),
        number ? h("span.number", number) : null,
        buttonOf(move, attributes),
        timeOf(move.commands) ? h("span.note", timeOf(move.commands)) : null,
        commentElement(move.comment),
    ];
}

/** What follows a node: its first child and on, each with the variations in its place in brackets. */
function following(parent, ply, isFirst) {
    const elements = [];
    let isNumbered = isFirst;
    for (let at = parent, count = ply; at.children.length; at = at.children[0], count++) {
        const [main, ...others] = at.children;
        elements.push(...moveElements(main, count, isNumbered));
        for (const other of others) elements.push(variation(other, count));
        isNumbered = others.length > 0 || Boolean(main.comment);
    }
    return elements;
}

function variation(start, ply) {
    const rest = following(start, ply + 1, Boolean(start.comment));
    return h("span.variation", "(", moveElements(start, ply, true), rest, ")");
}

/** Say what the move on the board gives away, as far as that is found. */
function showGrade() {
    const { node } = state;
    const { loss, grade } = (state.mode === "game" && node.parent && !isUnaided() && verdictOf(node)) || {};
    const name = (san) => `${numbered(state.fen, state.at - 1, true)} ${san}`;
    const [best] = loss ? knownOf(node.parent) : [];
    const lost = `${grade ? `, ${grade.name}:` : ""} gives away ${loss ? `${percent(loss, 1)} of a point` : "nothing"}`;
    const words = `${name(node.san)}${lost}${best ? `, best ${name(best.names[0])}` : ""}.`;
    byId("graded").textContent = loss === undefined ? "" : words;
}

function drawHeading() {
    const { eco, name } = (state.mode === "game" && state.report?.opening) || {};
    heading.textContent = [state.label, name && `${eco} ${name}`].filter(Boolean).join(" \u00b7 ");
    heading.hidden = !heading.textContent;
}

function draw() {
    const list = byId("move-list");
    drawHeading();
    buttons.clear();
    replace(list, heading, commentElement(state.root.comment), following(state.root, 0, true));
    const now = list.querySelector("[aria-current]");
    if (now) list.scrollTop = now.offsetTop - list.offsetTop - list.clientHeight / 2;
    keepFocus(byId("editing"), drawEditing);
}

const signButtons = () => /** @type {NodeListOf<any>} */ (byId("editing").querySelectorAll("[data-nag]"));

function drawEditing() {
    const move = state.node.parent ? state.node : null;
    byId("editing").hidden = state.mode === "free" || !state.root.children.length || Boolean(state.game);
    for (const signed of signButtons()) {
        signed.disabled = !move;
        signed.setAttribute("aria-pressed", String(Boolean(move?.nags.includes(Number(signed.dataset.nag)))));
    }
    for (const id of ["promote", "remove-move"]) byId(id).disabled = !move;
    if (commented && (pathTo(commented)[0]?.parent ?? commented) !== state.root) commented = null; // another game is on the board
    if (!commented) byId("comment").value = state.node.comment;
    byId("undo-edit").disabled = !state.edits.length;
    byId("redo-edit").disabled = !state.undone.length;
}

/** Give the move on the board a sign in place of another, or take it away. */
const sign = (nag) =>
    edit((move) => {
        const others = move.nags.filter((each) => each > GRADES);
        move.nags = move.nags.includes(nag) ? others : [...others, nag];
    });

const takeOff = () =>
    edit((move) => {
        remove(move);
        return move.parent;
    });

function takeComment(event) {
    const text = event.target.value.trim();
    const node = commented ?? state.node;
    commented = null;
    const comment = (move) => {
        move.comment = text;
    };
    afterPress(byId("move-list"), () => edit(comment, node));
}

export function makeMoveList(start) {
    signs = start.signs;
    for (const signed of signButtons()) signed.onclick = () => sign(Number(signed.dataset.nag));
    const comment = byId("comment");
    comment.oninput = () => {
        commented ??= state.node; // another move may be on the board before the comment is complete
    };
    comment.onchange = takeComment;
    comment.onblur = () => {
        if (!commented) return;
        commented = null;
        drawEditing();
    };
    byId("promote").onclick = () => edit((move) => promote(move));
    byId("remove-move").onclick = takeOff;
    byId("undo-edit").onclick = undoEdit;
    byId("redo-edit").onclick = redoEdit;
    listen((topics) => {
        if (["moves", "mode", "play"].some((topic) => topics.has(topic))) draw();
        if (["moves", "mode", "lines"].some((topic) => topics.has(topic))) showGrades();
        if (topics.has("report")) drawHeading();
    });
    draw();
}
