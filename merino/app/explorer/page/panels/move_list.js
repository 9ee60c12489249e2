// The moves of the game on the board: the main line, its variations in brackets, comments and signs; and what edits them.

import { afterPress, button, byId, h, panelBar, replace } from "../base/dom.js";
import { pathTo, promote, remove } from "../base/tree.js";
import { edit, goToNode, listen, numbered, redoEdit, state, undoEdit } from "../state/store.js";

/** Numeric Annotation Glyphs of the PGN standard that have a sign, each with its name. */
const SIGNS = new Map([
    [1, { text: "!", name: "good move" }],
    [2, { text: "?", name: "mistake" }],
    [3, { text: "!!", name: "brilliant move" }],
    [4, { text: "??", name: "blunder" }],
    [5, { text: "!?", name: "interesting move" }],
    [6, { text: "?!", name: "dubious move" }],
]);
const parts = {};
/** @type {any} */
let commented = null; // the move that the comment is of which is being typed

const signsOf = (move) => move.nags.map((nag) => SIGNS.get(nag)?.text ?? ` $${nag}`).join("");

const commentElement = (text) => (text ? h("span", { class: "comment" }, text) : null);

function moveElements(move, ply, isFirst) {
    const number = numbered(state.fen, ply, isFirst);
    const at = state.moves.indexOf(move);
    const attributes = {
        type: "button",
        class: "plain",
        "data-ply": at >= 0 ? at + 1 : undefined,
        "aria-current": move === state.node ? "true" : undefined,
        onclick: () => goToNode(move),
    };
    return [
        commentElement(move.before),
        number ? h("span", { class: "number" }, number) : null,
        h("button", attributes, move.san + signsOf(move)),
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

const variation = (start, ply) =>
    h(
        "span",
        { class: "variation" },
        "(",
        moveElements(start, ply, true),
        following(start, ply + 1, Boolean(start.comment)),
        ")",
    );

function drawHeading() {
    const heading = [state.label, state.opening].filter(Boolean).join(" \u00b7 ");
    parts.heading.textContent = heading;
    parts.heading.hidden = !heading;
}

function draw() {
    const list = byId("move-list");
    drawHeading();
    replace(list, parts.heading, commentElement(state.root.comment), following(state.root, 0, true));
    const now = list.querySelector("[aria-current]");
    if (now) list.scrollTop = now.offsetTop - list.offsetTop - list.clientHeight / 2;
    drawEditing();
}

function drawEditing() {
    const move = state.node.parent ? state.node : null;
    parts.box.hidden = !state.root.children.length || Boolean(state.game);
    for (const signed of parts.signs) {
        signed.disabled = !move;
        signed.setAttribute("aria-pressed", String(Boolean(move?.nags.includes(Number(signed.dataset.nag)))));
    }
    parts.comment.disabled = parts.promote.disabled = parts.remove.disabled = !move;
    if (commented && pathTo(commented)[0]?.parent !== state.root) commented = null; // another game is on the board
    if (!commented) parts.comment.value = move?.comment ?? "";
    parts.undo.disabled = !state.edits.length;
    parts.redo.disabled = !state.undone.length;
}

function sign(nag) {
    edit((move) => {
        const others = move.nags.filter((each) => !SIGNS.has(each));
        move.nags = move.nags.includes(nag) ? others : [...others, nag];
    });
}

const signButton = ([nag, { text, name }]) =>
    h(
        "button",
        {
            type: "button",
            class: "icon",
            "data-nag": nag,
            title: name,
            "aria-label": name,
            onclick: () => sign(nag),
        },
        text,
    );

function takeOff() {
    edit((move) => {
        remove(move);
        return move.parent;
    });
}

function takeComment() {
    const text = parts.comment.value.trim();
    const node = commented ?? state.node;
    commented = null;
    const comment = (move) => {
        move.comment = text;
    };
    afterPress(byId("move-list"), () => edit(comment, node));
}

function makeEditing() {
    parts.signs = [...SIGNS].map(signButton);
    parts.comment = h("input", {
        id: "comment",
        placeholder: "Comment on this move",
        "aria-label": "Comment on this move",
    });
    parts.comment.addEventListener("input", () => {
        commented ??= state.node; // another move may be on the board before the comment is complete
    });
    parts.comment.addEventListener("change", takeComment);
    parts.comment.addEventListener("blur", () => {
        if (!commented) return;
        commented = null;
        drawEditing();
    });
    const makeMain = () => edit((move) => promote(move));
    parts.promote = button("promote", "Main line", makeMain, { title: "Make this variation the main line" });
    parts.remove = button("remove-move", "Remove", takeOff, { title: "Take this move and what follows off the game" });
    parts.undo = button("undo-edit", "Undo", undoEdit, { title: "Undo the last change of the game (Ctrl+Z)" });
    parts.redo = button("redo-edit", "Redo", redoEdit, { title: "Do it again (Ctrl+Y)" });
    parts.box = h(
        "details",
        { class: "editing", hidden: true },
        h("summary", {}, "Annotate"),
        panelBar(parts.signs, parts.comment, parts.promote, parts.remove, parts.undo, parts.redo),
    );
    byId("move-list").after(parts.box);
}

export function makeMoveList() {
    makeEditing();
    parts.heading = h("b", {});
    listen((topics) => {
        if (["moves", "mode", "play"].some((topic) => topics.has(topic))) draw();
        else if (topics.has("opening")) drawHeading(); // it comes late: a move that is being clicked stays in its place
    });
    draw();
}
