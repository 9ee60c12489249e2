// A game as a tree: each node is a move with what follows it; the first child is the main line.

/**
 * A node: its move (none at the root), comment, NAGs, and what it comes from and leads to. `before` is the comment at the
 * beginning of a variation that it begins.
 */
function node(parent, { san = "", uci = "", comment = "", nags = [], before = "" } = {}) {
    return { san, uci, comment, nags: [...nags], before, parent, children: [] };
}

/** Append a move to a node, after the moves that are there; the new node, or the one with that move. */
export function append(parent, move) {
    const there = parent.children.find((child) => child.uci === move.uci);
    if (there) return there;
    const made = node(parent, move);
    parent.children.push(made);
    return made;
}

/**
 * The tree of a list of moves: { san, uci, comment, nags, variations, before }, where a variation is a list in place of a
 * move; `comment` is that before the first move.
 */
export function grown(moves, comment = "") {
    const root = node(null, { comment });
    graft(root, moves);
    return root;
}

function graft(start, moves) {
    let parent = start;
    for (const move of moves) {
        const main = append(parent, move);
        for (const variation of move.variations ?? []) graft(parent, variation);
        parent = main;
    }
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

function plain({ san, uci, comment, nags, before }) {
    const move = { san, uci };
    if (before) move.before = before;
    if (comment) move.comment = comment;
    if (nags.length) move.nags = nags;
    return move;
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

/** The moves of the main line of a tree, in coordinates. */
export const mainLine = (root) => lineThrough(root).map((move) => move.uci);

/** The node after moves in coordinates, as far as the tree has them. */
export function follow(root, ucis) {
    let at = root;
    for (const uci of ucis) at = at.children.find((child) => child.uci === uci) ?? at;
    return at;
}

/** Make a variation the main line, up to the root. */
export function promote(end) {
    for (let at = end; at.parent; at = at.parent) {
        const others = at.parent.children.filter((child) => child !== at);
        at.parent.children = [at, ...others];
    }
}

/** Take a move and all that follows off the tree. */
export function remove(end) {
    end.parent.children = end.parent.children.filter((child) => child !== end);
}
