// Games: where they come from, the list of those in a file with its search, and the chosen one with the course of its
// evaluation. A source of games has their `name`, gives the list piece by piece and a whole game by its entry in the list,
// and says how the server is asked for a study of all of them.

import { byId, h, replace } from "../base/dom.js";
import { changeDetector, framed, guarded, showError, turns, wordsOf } from "../base/flow.js";
import { plural, thousands } from "../base/words.js";
import { base64, chooseFiles } from "../base/files.js";
import { get, post } from "../base/server.js";
import { changed, setGame, state, tagsNow, watchBoard } from "../state/store.js";
import { openTab } from "../state/tabs.js";
import { drawCourse, makeCourse } from "./course.js";
import { makeTree } from "./tree.js";

const FIRST_PIECE = 1 << 16; // bytes: enough games to fill the list at once
const PIECE = 1 << 20;
const MAX_STUDIED = 60e6; // bytes of a file whose games are studied together
const MAX_PIECE = 3 << 19; // in base64 the longest text that the server takes
const ROW = matchMedia("(pointer: coarse)").matches ? 40 : 30; // pixels
const AROUND = 4; // rows drawn beyond the view
const MAX_TAGS = 12;
const NOTHING = { search: "", result: "", from: "", to: "" };

/** The games of a file, or of a text as a Blob; the page reads it, and the server keeps nothing. */
export const ofFile = (file, name) => ({
    name,
    piece: (at) => pieceOf(file, at, "/api/games"),
    moves: (at, tree) => pieceOf(file, at, "/api/tree/read", { tree }),
    game: async ({ start, size, number }) =>
        post("/api/game", { content: await base64(file.slice(start, start + size)), number }),
    request: async () => {
        if (file.size > MAX_STUDIED) throw new Error(`${name} is too large for this: give it on the command line`);
        return { files: [{ name, content: await base64(file) }] };
    },
});

/** The games of the file that the server reads. */
export const ofServer = (name) => ({
    name,
    piece: (at) => get(`/api/games?at=${at}`),
    moves: (at, tree) => post("/api/tree/read", { at, tree, file: true }),
    game: ({ start, size, number }) => get(`/api/game?start=${start}&size=${size}&number=${number}`),
    request: async () => ({ file: true }),
});

/** What the server says of some games of a file from the byte `at` on, and where the `next` ones begin: null at its end. */
async function pieceOf(file, at, path, more = {}) {
    for (let size = at ? PIECE : FIRST_PIECE; ; size = Math.min(2 * size, MAX_PIECE)) {
        const isLast = at + size >= file.size;
        const content = await base64(file.slice(at, at + size));
        const found = await post(path, { content, at, more: !isLast && size < MAX_PIECE, ...more });
        if (found.next === at) continue; // no game ends in this piece
        const after = isLast ? null : (found.next ?? at + size);
        return { ...found, next: after, done: (after ?? file.size) / Math.max(1, file.size) };
    }
}

/** The players of games with the most of them, each with their number. */
function playersOf(games, most) {
    const counts = new Map();
    for (const player of games.flatMap((game) => [game.white, game.black]))
        if (player && player !== "?") counts.set(player, (counts.get(player) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1]).slice(0, most);
}

/**
 * Whether a game has each of the words in players, event or opening code, the result, and a date within `from` and `to`
 * as far as they are given: 2024, 2024.05 or 2024.05.31.
 */
export function matches(game, { words, result, from, to }) {
    const { date } = game;
    if (reached && !reached.has(game.number)) return false;
    if (result && game.result !== result) return false;
    if ((from || to) && !/^\d/.test(date)) return false;
    if ((from && date < from) || (to && date.slice(0, to.length) > to)) return false;
    const text = [game.white, game.black, game.event, game.eco].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
}

/** What to match, from what a person has typed. */
export const queryOf = ({ search, result, from, to }) => ({
    words: search.toLowerCase().split(/\s+/).filter(Boolean),
    result,
    from: dateOf(from),
    to: dateOf(to),
});

/** A date as PGN writes it, as far as it is given: "2024/5" is "2024.05". */
const dateOf = (text) =>
    text
        .trim()
        .replace(/[-/]/g, ".")
        .replace(/\.(\d)(?=\.|$)/g, ".0$1");

/** @type {any} */
let source = null;
/** @type {any[]} */
let list = []; // of all games, with their `number` from 1
/** @type {any[]} */
let found = []; // those that match the search
let query = queryOf(NOTHING);
let done = 1; // the share of the file that has been listed
/** @type {Set<number> | null} */
let reached = null; // the numbers of those that reach the position on the board, where only they are listed
/** @type {any} */
let chosen = null; // from the list
/** @type {any} */
let opened = null; // the chosen game, with its moves
let active = 0; // the place in the list that the keys have come to
let isShown = () => false;

const box = byId("game-list");
const count = byId("game-count");
const [height] = box.children;
const [drawnRows] = height.children;

const beginGame = turns();
const beginList = turns();
const areRowsNew = changeDetector();

/**
 * List the games of a source as they are read, and show the first of them, or with `leavesBoard` leave the board as it is;
 * raises what its reading raises. Of several at a time the last one is listed.
 */
export async function openGames(from, leavesBoard = false) {
    const isLast = beginList();
    const first = await from.piece(0);
    if (!isLast()) return;
    if (!first.games.length && first.next === null) throw new Error(`${from.name} holds no game`);
    begin(from);
    listPiece(first);
    listRest(from, first.next);
    if (leavesBoard) return;
    openTab("games");
    if (list.length) await choose(list[0]);
}

/** Show a PGN that was read as a whole: its list, and its first game. */
export function showGames(read, text) {
    begin(ofFile(new Blob([text]), "the text"));
    add(read.listed);
    drawList();
    openTab("games");
    return showGame(list[0], read.games[0]);
}

function begin(from) {
    beginGame(); // a game of the list before that still comes is not shown
    beginList(); // nor is a list that was asked for before
    source = from;
    list = [];
    query = queryOf(NOTHING);
    found = [];
    done = 1;
    chosen = opened = reached = null;
    areRowsNew(null);
    goToPlace(0);
    byId("game-search-form").reset();
}

function add(games) {
    const numbered = games.map((game, at) => ({ ...game, number: list.length + at + 1 }));
    list.push(...numbered);
    found.push(...numbered.filter((game) => matches(game, query)));
}

function listPiece({ games, next, done: share }) {
    add(games);
    done = next === null ? 1 : share && Math.min(share, 0.99);
    drawList();
}

async function listRest(from, first) {
    try {
        for (let at = first; at !== null; ) {
            const piece = await from.piece(at);
            if (from !== source) return; // another file was opened meanwhile
            listPiece(piece);
            at = piece.next;
        }
    } catch (error) {
        if (from === source) showError(`${from.name}: ${wordsOf(error)}`);
    }
}

/** Show a game of the list. */
async function choose(entry) {
    const isLast = beginGame(),
        isAsBefore = watchBoard();
    const game = await source.game(entry);
    if (isLast() && isAsBefore()) await showGame(entry, game);
}

async function showGame(entry, game) {
    chosen = entry;
    opened = game;
    await setGame(game, 0);
    draw();
}

function search() {
    query = queryOf(/** @type {any} */ (Object.fromEntries(new FormData(byId("game-search-form")))));
    found = list.filter((game) => matches(game, query));
    goToPlace(0);
    drawList();
}

/** List only games with these numbers; with null all. */
function listOnly(numbers) {
    reached = numbers && new Set(numbers);
    search();
}

/** The games that are listed: their number, players with counts, and how the server is asked of them; null for none. */
export const loadedGames = () =>
    source && list.length
        ? {
              source,
              name: source.name,
              count: list.length,
              players: (most) => playersOf(list, most),
              request: () => source.request(),
          }
        : null;

export const openPgn = guarded(async () => {
    const [file] = await chooseFiles(".pgn,text/plain");
    await openGames(ofFile(file, file.name));
});

const isKnown = (value) => value && !/^\?/.test(value);
const shortResult = (result) => (result === "1/2-1/2" ? "\u00bd-\u00bd" : result);

/** Go to a place in the list, and scroll it into view. */
function goToPlace(place) {
    active = Math.max(0, Math.min(place, found.length - 1));
    const bottom = active * ROW + ROW - box.clientHeight;
    box.scrollTop = Math.max(bottom, Math.min(active * ROW, box.scrollTop));
    drawRows();
}

/** Only the rows in view are elements. */
const drawRows = framed(() => {
    height.style.height = `${found.length * ROW}px`;
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - AROUND);
    const seen = found.slice(first, Math.ceil((box.scrollTop + box.clientHeight) / ROW) + AROUND);
    drawnRows.style.transform = `translateY(${first * ROW}px)`;
    const numbers = seen.map((game) => game.number);
    const rows = () => seen.map((game, at) => row(game, first + at));
    if (areRowsNew(numbers, first, chosen?.number, active)) replace(drawnRows, rows());
    for (const each of drawnRows.children) each.setAttribute("aria-setsize", String(found.length));
    const isActiveSeen = first <= active && active < first + seen.length;
    if (isActiveSeen) box.setAttribute("aria-activedescendant", `game-at-${active}`);
    else box.removeAttribute("aria-activedescendant");
});

function row(game, place) {
    const selector = `div#game-at-${place}.game-row${place === active ? ".active" : ""}`;
    const attributes = {
        role: "option",
        style: { height: `${ROW}px` },
        "aria-selected": String(game === chosen),
        "aria-posinset": place + 1,
        onclick: () => openPlace(place),
    };
    return h(selector, attributes, cells(game));
}

function cells(game) {
    const cell = (kind, text) => h(`span.game-${kind}`, { title: text }, text);
    const player = (name, elo) => cell("player", isKnown(elo) ? `${name || "?"} (${elo})` : name || "?");
    return [
        cell("number", thousands(game.number)),
        player(game.white, game.white_elo),
        cell("result", shortResult(game.result)),
        player(game.black, game.black_elo),
        cell("date", isKnown(game.date) ? game.date.replace(/(\.\?\?)+$/, "") : ""),
        cell("event", [game.eco, game.event].filter(isKnown).join(" ")),
    ];
}

async function openPlace(place) {
    active = place;
    drawRows();
    const game = found[place];
    if (!game) return;
    try {
        await choose(game);
        drawRows();
    } catch (error) {
        showError(`Game ${game.number}: ${wordsOf(error)}`);
    }
}

function press(event) {
    const page = Math.max(1, Math.floor(box.clientHeight / ROW) - 1),
        end = found.length;
    const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -end, End: end };
    const opens = event.key === "Enter" || event.key === " ";
    if (!opens && !(event.key in steps)) return;
    event.preventDefault();
    event.stopPropagation();
    if (opens) openPlace(active);
    else goToPlace(active + steps[event.key]);
}

function drawList() {
    byId("game-choice").hidden = list.length < 2;
    const all = plural(list.length, "game");
    const part = found.length === list.length ? all : `${thousands(found.length)} of ${all}`;
    const share = done === null ? "reading" : `reading, ${Math.floor(100 * done)}%`;
    const words = done === 1 ? part : `${part} (${share})`;
    count.setAttribute("aria-live", done === 1 ? "polite" : "off");
    if (count.textContent !== words) count.textContent = words; // what is written again is spoken again
    drawRows();
    if (done === 1) changed("games");
}

/** Whether a game is the one on the board, to which moves may have been added. */
const isOnBoard = (game) => state.mode === "game" && state.tags === game.tags;

function draw() {
    if (!isShown()) return;
    const isGame = state.mode === "game",
        hasCourse = isGame && state.moves.length > 0;
    const tags = Object.entries(isGame ? tagsNow() : {}).filter(([, value]) => isKnown(value));
    const fault = opened?.fault && isOnBoard(opened) ? opened.fault : "";
    replace(
        byId("game-tags"),
        tags.slice(0, MAX_TAGS).map(([name, value]) => h("div", h("dt", name), h("dd", value))),
    );
    byId("game-hint").hidden = opened !== null;
    byId("game-fault").hidden = !fault;
    byId("game-fault").textContent = fault;
    byId("game-nothing").hidden = hasCourse;
    byId("game-nothing").textContent = isGame
        ? "Play or paste moves, and their course is drawn here."
        : "Free mode has no moves: its position stands alone.";
    byId("game-course").hidden = !hasCourse;
    if (hasCourse) drawCourse();
    drawList();
}

export function makeGames(_, isOpen) {
    isShown = isOpen;
    const form = byId("game-search-form");
    form.oninput = search;
    form.onsubmit = (event) => event.preventDefault();
    byId("open-pgn").onclick = openPgn;
    box.addEventListener("scroll", drawRows);
    box.addEventListener("keydown", press);
    new ResizeObserver(drawRows).observe(box);
    makeCourse(draw, isShown);
    makeTree(loadedGames, listOnly, isOpen);
}
