// Games: the list of those in a file, and the chosen one with the course of its evaluation.

import { button, chooseFile, guarded, h, panelBar, plural, replace, showError, wordsOf } from "../base/dom.js";
import { changed, setGame, state, tagsNow, watchBoard } from "../state/store.js";
import { openTab } from "../state/tabs.js";
import { courseElements, followCourse, makeCourse } from "./course.js";
import { GameList, queryOf } from "./game_list.js";
import { ofFile } from "./game_sources.js";
import { GameTable, makeSearch } from "./game_table.js";

const MAX_TAGS = 12;
const NOTHING = { search: "", result: "", from: "", to: "" };

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
let asked = 0;
let opening = 0; // how often a list was asked for, or shown
let table;
const parts = {}; // the elements of the panel

/**
 * List the games of a source as they are read, and show the first of them, or with `listOnly` leave the board as it is;
 * raises what its reading raises. Of several at a time the last one is listed.
 */
export async function openGames(from, listOnly = false) {
    const number = ++opening;
    const first = await from.piece(0);
    if (number !== opening) return;
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
    chosen = 0;
    opened = read.games[0];
    search();
    openTab("games");
    return showOpened();
}

function begin(from) {
    asked += 1; // a game of the list before that still comes is not shown
    opening += 1; // nor is a list that was asked for before
    source = from;
    list = new GameList();
    indices = [];
    table.reset();
    table.goTo(0);
    query = queryOf(NOTHING);
    parts.search.reset();
    chosen = -1;
    opened = null;
    done = 1;
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
    const number = ++asked,
        isAsBefore = watchBoard();
    const game = await source.game(list.at(index));
    if (number !== asked || !isAsBefore()) return;
    chosen = index;
    opened = game;
    await showOpened();
}

async function showOpened() {
    await setGame(opened, 0);
    draw();
}

const chooseOrSay = (index) => choose(index).catch((error) => showError(`Game ${index + 1}: ${error.message}`));

function search(fields = NOTHING) {
    query = queryOf(fields);
    indices = list.matching(query);
    table.goTo(0);
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
    const file = await chooseFile(".pgn,text/plain");
    await openGames(ofFile(file, file.name));
});

function drawList() {
    parts.list.hidden = list.length < 2;
    const count = plural(list.length, "game");
    const part = indices.length === list.length ? count : `${indices.length.toLocaleString("en")} of ${count}`;
    const share = done === null ? "reading" : `reading, ${Math.floor(100 * done)}%`;
    const told = done === 1 ? part : `${part} (${share})`;
    parts.count.setAttribute("aria-live", done === 1 ? "polite" : "off");
    if (parts.count.textContent !== told) parts.count.textContent = told; // what is written again is spoken again
    table.redraw();
    if (done === 1) changed("games");
}

function tagList(tags) {
    const known = Object.entries(tags).filter(([, value]) => value && value !== "?" && !/^\?{4}/.test(value));
    const pair = ([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
    return h("dl", { class: "tags" }, known.slice(0, MAX_TAGS).map(pair));
}

/** Whether a game is the one on the board, to which moves may have been added. */
const isOnBoard = (game) => state.mode === "game" && state.tags === game.tags;

function nothing() {
    const why =
        state.mode === "free"
            ? "Free mode has no moves: its position stands alone."
            : "Play or paste moves, and their course is drawn here.";
    return h("p", { class: "empty" }, why);
}

function draw() {
    if (!parts.isShown()) return;
    const isOpen = parts.game.querySelector("details")?.open;
    parts.hint.hidden = opened !== null;
    replace(
        parts.game,
        state.mode === "game" ? tagList(tagsNow()) : null,
        opened?.fault && isOnBoard(opened) ? h("p", { class: "fault" }, opened.fault) : null,
        state.mode === "game" && state.moves.length ? courseElements(isOpen) : nothing(),
    );
    followCourse();
    drawList();
}

export function makeGames(panel, isShown) {
    parts.isShown = isShown;
    parts.count = h("span", { id: "game-count", class: "note", role: "status" });
    parts.hint = h("span", { class: "note" }, "or paste one into the box at the top. The game on the board is below.");
    parts.search = makeSearch(search);
    parts.game = h("div");
    table = new GameTable({ read: () => ({ indices, chosen, game: (index) => list.at(index) }), choose: chooseOrSay });
    parts.list = h("div", { class: "game-choice", hidden: true }, parts.search, table.box);
    replace(
        panel,
        panelBar(button("open-pgn", "Open a PGN file", openPgn), parts.count, parts.hint),
        parts.list,
        parts.game,
    );
    makeCourse(draw, isShown);
}
