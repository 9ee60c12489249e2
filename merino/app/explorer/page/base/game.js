// Games and positions as text: a game as a tree, whose nodes are moves with what follows them, the first child the main
// line; the numbers of moves; and the board part of a FEN.

export const FILES = "abcdefgh";

/**
 * A node: its move (none at the root), comment, NAGs, and what it comes from and leads to. `before` is the comment at the
 * beginning of a variation that it begins, `commands` what its own comment has for programs, by name, and `score` what it
 * says of the position. `known` and `verdict` are what the page has found of its position and of it.
 */
const node = (
    parent,
    { san = "", uci = "", comment = "", nags = [], before = "", commands = {}, score = null } = {},
) => ({
    ...{ san, uci, comment, nags: [...nags], before, commands: { ...commands }, score },
    ...{ known: null, verdict: null },
    parent,
    children: [],
});

function add(parent, move) {
    const made = node(parent, move);
    parent.children.push(made);
    return made;
}

/** Append a move to a node, after the moves that are there; the new node, or the one with that move. */
export const append = (parent, move) => parent.children.find((child) => child.uci === move.uci) ?? add(parent, move);

/**
 * The tree of a list of moves: { san, uci, comment, commands, nags, variations, before, score }, where a variation is a
 * list in place of a move; `comment` and `commands` are those before the first move.
 */
export function grown(moves, comment = "", commands = {}) {
    const root = node(null, { comment, commands });
    graft(root, moves);
    return root;
}

function graft(start, moves) {
    let parent = start;
    for (const move of moves) {
        const main = add(parent, move);
        for (const variation of move.variations ?? []) graft(parent, variation);
        parent = main;
    }
}

/** Let a tree know of its moves what another one knows of the same. */
export function inherit(tree, from) {
    for (const pairs = [[tree, from]]; pairs.length; ) {
        const [node, { known, verdict, children }] = /** @type {any[]} */ (pairs.pop());
        Object.assign(node, { known, verdict });
        for (const child of node.children) {
            const same = children.find(({ uci }) => uci === child.uci);
            if (same) pairs.push([child, same]);
        }
    }
    return tree;
}

/** The list of moves of a tree, as `grown` takes it. */
export function listed(root) {
    const moves = [];
    for (let parent = root; parent.children.length; parent = parent.children[0]) {
        const [main, ...others] = parent.children;
        const variations = others.map((other) => [plain(other), ...listed(other)]);
        moves.push(variations.length ? { ...plain(main), variations } : plain(main));
    }
    return moves;
}

/** A move without what is empty in it. */
function plain({ san, uci, comment, commands, nags, before, score }) {
    const more = Object.entries({ before, comment, commands, nags, score }).filter(
        ([, value]) => Object.keys(value ?? "").length,
    );
    return { san, uci, ...Object.fromEntries(more) };
}

/** The moves from the root to a node. */
export function pathTo(end) {
    const path = [];
    for (let at = end; at.parent; at = at.parent) path.unshift(at);
    return path;
}

/** The moves through a node: to it from the root, and on along the first children. */
export function lineThrough(middle) {
    const line = pathTo(middle);
    for (let at = middle; at.children.length; at = at.children[0]) line.push(at.children[0]);
    return line;
}

/** Moves in coordinates. */
export const ucis = (moves) => moves.map((move) => move.uci);

/** The moves of the main line of a tree, in coordinates. */
export const mainLine = (root) => ucis(lineThrough(root));

/** The node after moves in coordinates, as far as the tree has them. */
export const follow = (root, path) =>
    path.reduce((at, uci) => at.children.find((child) => child.uci === uci) ?? at, root);

/** Make a variation the main line, up to the root. */
export function promote(end) {
    for (let at = end; at.parent; at = at.parent)
        at.parent.children = [at, ...at.parent.children.filter((child) => child !== at)];
}

/** Take a move and all that follows off the tree. */
export function remove(end) {
    end.parent.children = end.parent.children.filter((child) => child !== end);
}

/** The side to move so many plies after a position. */
export const sideAfter = (fen, plies) => ((fen.split(" ")[1] === "b") === (plies % 2 === 0) ? "black" : "white");

/** The number before a move that is made so many plies after a position, empty where none is written. */
export function numbered(fen, plies, isFirst) {
    const [, turn, , , , full = "1"] = fen.split(" ");
    const half = plies + (turn === "b" ? 1 : 0);
    if (half % 2 && !isFirst) return "";
    return `${Number(full) + Math.floor(half / 2)}.${half % 2 ? ".." : ""}`;
}

/** Moves by their names, with numbers, that are made so many plies after a position. */
export const textOf = (names, fen, plies) =>
    names.map((name, at) => `${numbered(fen, plies + at, at === 0)} ${name}`.trim()).join(" ");

/** The squares that a move in coordinates comes from and goes to. */
export const squaresOf = (uci) => [uci.slice(0, 2), uci.slice(2, 4)];

const NAMES = { p: "pawn", n: "knight", b: "bishop", r: "rook", q: "queen", k: "king" };

export const isWhite = (letter) => letter === letter.toUpperCase();
/** Where the drawing of a piece is. */
export const pieceAddress = (letter) => `/pieces/${isWhite(letter) ? "w" : "b"}${letter.toUpperCase()}.svg`;
export const nameOf = (letter) => `${isWhite(letter) ? "white" : "black"} ${NAMES[letter.toLowerCase()]}`;

/** The pieces of the board of a FEN: letters by square. */
export function boardOf(fen) {
    const found = new Map();
    fen.split(" ")[0]
        .split("/")
        .forEach((row, index) => {
            let file = 0;
            for (const sign of row) {
                if (/\d/.test(sign)) file += Number(sign);
                else found.set(FILES[file++] + (8 - index), sign);
            }
        });
    return found;
}

/** The board part of a FEN from letters by square. */
export const fenOf = (pieces) =>
    [..."87654321"]
        .map((rank) => [...FILES].map((file) => pieces.get(file + rank) ?? " ").join(""))
        .map((row) => row.replace(/ +/g, (gap) => String(gap.length)))
        .join("/");
