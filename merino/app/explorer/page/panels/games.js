// Games: where they come from, the list of those in a file with its search, and the chosen one with the course of its
// evaluation. A source of games has their `name`, gives the list piece by piece and a whole game by its entry in the list,
// and says how the server is asked for a study of all of them.

import {
    byId,
    changeDetector,
    framed,
    guarded,
    h,
    plural,
    replace,
    showError,
    thousands,
    turns,
    wordsOf,
} from "../base/dom.js";
import { base64, chooseFiles, gamesText } from "../base/files.js";
import { get, post } from "../base/server.js";
import { changed, setGame, state, tagsNow, watchBoard } from "../state/store.js";
import { openTab } from "../state/tabs.js";
import { drawCourse, makeCourse } from "./course.js";

const FIRST_PIECE = 1 << 16; // bytes: enough games to fill the list at once
const PIECE = 1 << 20;
const MAX_STUDIED = 60e6; // bytes of a file whose games are studied together
const MAX_PIECE = 3 << 19; // in base64 the longest text that the server takes
const ROW = matchMedia("(pointer: coarse)").matches ? 40 : 30; // pixels
const MAX_HEIGHT = 8e6; // pixels that every browser can scroll; longer lists scroll faster
const AROUND = 4; // rows drawn beyond the view
const MAX_TAGS = 12;
const TEXTS = ["result", "white", "black", "white_elo", "black_elo", "date", "event", "eco"];
const SEARCHED = ["white", "black", "event", "eco"];
const NOTHING = { search: "", result: "", from: "", to: "" };

/** The games of a file, or of a text as a Blob; the page reads it, and the server keeps nothing. */
export const ofFile = (file, name) => ({
    name,
    piece: (at) => pieceOf(file, at),
    game: async ({ start, size, number }) =>
        post("/api/game", { content: await base64(file.slice(start, start + size)), number }),
    request: async () => {
        if (file.size > MAX_STUDIED) throw new Error(`${name} is too large for this: give it on the command line`);
        return { files: [{ name, text: await gamesText(file) }] };
    },
});

/** The games of the file that the server reads. */
export const ofServer = (name) => ({
    name,
    piece: (at) => get(`/api/games?at=${at}`),
    game: ({ start, size, number }) => get(`/api/game?start=${start}&size=${size}&number=${number}`),
    request: async () => ({ file: true }),
});

/** Some games of a file from the byte `at` on, and where the `next` ones begin: null at its end. */
async function pieceOf(file, at) {
    for (let size = at ? PIECE : FIRST_PIECE; ; size = Math.min(2 * size, MAX_PIECE)) {
        const isLast = at + size >= file.size;
        const content = await base64(file.slice(at, at + size));
        const { games, next } = await post("/api/games", { content, at, more: !isLast && size < MAX_PIECE });
        if (next === at) continue; // no game ends in this piece
        const after = isLast ? null : (next ?? at + size);
        return { games, next: after, done: (after ?? file.size) / Math.max(1, file.size) };
    }
}

/** The games of a file as columns of their headers, so that a hundred thousand of them take little memory. */
export class GameList {
    #starts = [];
    #sizes = [];
    /** @type {Record<string, string[]>} */
    #texts = Object.fromEntries(TEXTS.map((name) => [name, []]));
    #known = new Map(); // each text once: players and events come again

    get length() {
        return this.#starts.length;
    }

    /** Append what the server says of some games. */
    add(games) {
        for (const game of games) {
            this.#starts.push(game.start);
            this.#sizes.push(game.size);
            for (const name of TEXTS) {
                const text = game[name];
                if (!this.#known.has(text)) this.#known.set(text, text);
                this.#texts[name].push(this.#known.get(text));
            }
        }
    }

    /** A game: its `number` from 1, its place in the file, and its headers. */
    at(index) {
        const texts = Object.fromEntries(TEXTS.map((name) => [name, this.#texts[name][index]]));
        return { number: index + 1, start: this.#starts[index], size: this.#sizes[index], ...texts };
    }

    /** The players with the most games, each with their number. */
    players(most) {
        const counts = new Map();
        for (const name of ["white", "black"])
            for (const player of this.#texts[name])
                if (player && player !== "?") counts.set(player, (counts.get(player) ?? 0) + 1);
        return [...counts].sort((a, b) => b[1] - a[1]).slice(0, most);
    }

    /**
     * The indices, from `first` on, of the games that match: each of the words in players, event or opening code, the
     * result, and dates `from` and `to` as far as they are given: 2024, 2024.05 or 2024.05.31.
     */
    matching(query, first = 0) {
        const found = [];
        for (let index = first; index < this.length; index++) if (this.#matches(index, query)) found.push(index);
        return found;
    }

    #matches(index, { words, result, from, to }) {
        const date = this.#texts.date[index];
        if (result && this.#texts.result[index] !== result) return false;
        if ((from || to) && !/^\d/.test(date)) return false;
        if ((from && date < from) || (to && date.slice(0, to.length) > to)) return false;
        if (!words.length) return true;
        const texts = SEARCHED.map((name) => this.#texts[name][index]);
        const text = texts.join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
    }
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
let list = new GameList();
/** @type {any} */
let indices = []; // of the games in the list that match the search
let query = queryOf(NOTHING);
let done = 1; // the share of the file that has been listed
let chosen = -1;
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
 * List the games of a source as they are read, and show the first of them, or with `listOnly` leave the board as it is;
 * raises what its reading raises. Of several at a time the last one is listed.
 */
export async function openGames(from, listOnly = false) {
    const isLast = beginList();
    const first = await from.piece(0);
    if (!isLast()) return;
    if (!first.games.length && first.next === null) throw new Error(`${from.name} holds no game`);
    begin(from);
    listPiece(first);
    listRest(from, first.next);
    if (listOnly) return;
    openTab("games");
    if (list.length) await choose(0);
}

/** Show a PGN that was read as a whole: its list, and its first game. */
export function showGames(read, text) {
    begin(ofFile(new Blob([text]), "the text"));
    list.add(read.listed);
    search();
    openTab("games");
    return showGame(0, read.games[0]);
}

function begin(from) {
    beginGame(); // a game of the list before that still comes is not shown
    beginList(); // nor is a list that was asked for before
    source = from;
    list = new GameList();
    query = queryOf(NOTHING);
    indices = [];
    done = 1;
    chosen = -1;
    opened = null;
    areRowsNew(null);
    goToPlace(0);
    byId("game-search-form").reset();
}

function listPiece({ games, next, done: share }) {
    const first = list.length;
    list.add(games);
    for (const index of list.matching(query, first)) indices.push(index);
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
async function choose(index) {
    const isLast = beginGame(),
        isAsBefore = watchBoard();
    const game = await source.game(list.at(index));
    if (isLast() && isAsBefore()) await showGame(index, game);
}

async function showGame(index, game) {
    chosen = index;
    opened = game;
    await setGame(game, 0);
    draw();
}

function search(fields = NOTHING) {
    query = queryOf(fields);
    indices = list.matching(query);
    goToPlace(0);
    drawList();
}

/** The games that are listed: their number, players with counts, and how the server is asked of them; null for none. */
export const loadedGames = () =>
    source && list.length
        ? {
              source,
              name: source.name,
              count: list.length,
              players: (most) => list.players(most),
              request: () => source.request(),
          }
        : null;

export const openPgn = guarded(async () => {
    const [file] = await chooseFiles(".pgn,text/plain");
    await openGames(ofFile(file, file.name));
});

const isKnown = (value) => value && !/^\?/.test(value);
const shortResult = (result) => (result === "1/2-1/2" ? "\u00bd-\u00bd" : result);

/** Pixels of the list to one that is scrolled. */
function scale() {
    const whole = indices.length * ROW,
        room = box.clientHeight;
    return whole > MAX_HEIGHT ? (whole - room) / (MAX_HEIGHT - room) : 1;
}

/** Go to a place in the list, and scroll it into view. */
function goToPlace(place) {
    active = Math.max(0, Math.min(place, indices.length - 1));
    const top = active * ROW,
        bottom = top + ROW - box.clientHeight;
    if (top < box.scrollTop * scale()) box.scrollTop = top / scale();
    else if (bottom > box.scrollTop * scale()) box.scrollTop = bottom / scale();
    drawRows();
}

/** Only the rows in view are elements. */
const drawRows = framed(() => {
    height.style.height = `${Math.min(indices.length * ROW, MAX_HEIGHT)}px`;
    const top = box.scrollTop * scale();
    const first = Math.max(0, Math.floor(top / ROW) - AROUND);
    const last = Math.ceil((top + box.clientHeight) / ROW) + AROUND;
    drawnRows.style.transform = `translateY(${box.scrollTop - top + first * ROW}px)`;
    const seen = indices.slice(first, last);
    if (areRowsNew(seen, first, chosen, active))
        replace(
            drawnRows,
            seen.map((index, at) => row(index, first + at)),
        );
    for (const each of drawnRows.children) each.setAttribute("aria-setsize", String(indices.length));
    const isActiveSeen = first <= active && active < first + seen.length;
    if (isActiveSeen) box.setAttribute("aria-activedescendant", `game-at-${active}`);
    else box.removeAttribute("aria-activedescendant");
});

function row(index, place) {
    const selector = `div#game-at-${place}.game-row${place === active ? ".active" : ""}`;
    const attributes = {
        role: "option",
        style: { height: `${ROW}px` },
        "aria-selected": String(index === chosen),
        "aria-posinset": place + 1,
        onclick: () => openPlace(place),
    };
    return h(selector, attributes, cells(list.at(index)));
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
    const index = indices[place];
    if (index === undefined) return;
    try {
        await choose(index);
        drawRows();
    } catch (error) {
        showError(`Game ${index + 1}: ${wordsOf(error)}`);
    }
}

function press(event) {
    const page = Math.max(1, Math.floor(box.clientHeight / ROW) - 1),
        end = indices.length;
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
    const part = indices.length === list.length ? all : `${thousands(indices.length)} of ${all}`;
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
    form.oninput = () => search(/** @type {any} */ (Object.fromEntries(new FormData(form))));
    form.onsubmit = (event) => event.preventDefault();
    byId("open-pgn").onclick = openPgn;
    box.addEventListener("scroll", drawRows);
    box.addEventListener("keydown", press);
    new ResizeObserver(drawRows).observe(box);
    makeCourse(draw, isShown);
}
