// Games: those of a PGN, the course of the evaluation and of terms as a graph, and the mistakes.

import { channel, post } from "./api.js";
import { COLOURS, chart } from "./chart.js";
import { byId, h, openFile, percent, plural, replace, say, showError, spaced } from "./dom.js";
import { openTab } from "./tabs.js";
import { goTo, listen, setGame, state } from "./store.js";

const MOST_PAWNS = 10;
const GRADES = { blunder: "#d0384f", mistake: "#e0812a", inaccuracy: "#c4a021" };

let games = [];
let remark = "";
let chosen = -1;
let course = { key: "", points: [] };
let terms = new Set();
let found = new Map(); // by ply: what annotate tells
let account = [];
let working = false;
let nodes = 20000;
let link;
let draw = () => {};
let graph;

/** Show the games of a PGN, the first of them on the board. */
export function showGames(list, note) {
    games = list;
    remark = note ?? "";
    openTab("games");
    return choose(0, 0);
}

export async function openPgn() {
    const { text } = await openFile(".pgn,text/plain");
    const read = await post("/api/pgn", { text });
    showGames(read.games, read.remark);
}

async function choose(index, at) {
    chosen = index;
    const game = games[index];
    await setGame({ fen: game.fen, moves: game.moves, label: game.label }, at ?? 0);
    draw();
}

const key = () => JSON.stringify([state.fen, state.moves.map((move) => move.uci), state.weights, state.changes]);

async function askCourse() {
    const wanted = key();
    if (course.key === wanted || state.mode !== "game") return;
    const line = JSON.stringify([state.fen, state.moves.map((move) => move.uci)]);
    try {
        const { points } = await post("/api/course", {
            fen: state.fen,
            moves: state.moves.map((move) => move.uci),
            weights: state.weights,
            changes: state.changes,
        });
        if (wanted !== key()) return;
        if (course.line !== line) {
            found = new Map();
            account = [];
            stop();
        }
        course = { key: wanted, line, points };
        draw();
    } catch (error) {
        showError(error.message);
    }
}

function stop() {
    if (working) {
        working = false;
        link.stop();
    }
}

function annotate() {
    if (working) {
        stop();
        draw();
        return;
    }
    found = new Map();
    account = [];
    working = true;
    link ??= channel("/ws/annotate", hear);
    link.send({
        fen: state.fen,
        moves: state.moves.map((move) => move.uci),
        weights: state.weights,
        changes: state.changes,
        nodes,
    });
    draw();
}

function hear(message) {
    if (message.type === "move") {
        if (!working) return;
        found.set(message.ply, message);
        graph?.redraw();
        byId("annotate-state").textContent = `${message.ply} of ${state.moves.length}`;
        return;
    }
    if (message.type === "done" && working) {
        account = message.account;
        say(account.join(" "));
    }
    if (message.type === "error") showError(message.error);
    working = false;
    draw();
}

const moveNumber = (ply) => {
    const [, turn, , , , full] = state.fen.split(" ");
    const half = 2 * (Number(full) - 1) + (turn === "b" ? 1 : 0) + ply - 1;
    return `${Math.floor(half / 2) + 1}${half % 2 ? "..." : "."}`;
};

function series() {
    const clip = (value) => Math.max(-MOST_PAWNS, Math.min(MOST_PAWNS, value));
    const points = course.points.map((point, ply) => [ply, clip(point.score_cp / 100)]);
    const lines = [{ name: "Static score", points, colour: "var(--ink)", kind: "area" }];
    const searched = [...found.values()].map(({ ply, after }) => [
        ply,
        clip(after.text.includes("M") ? (after.text.startsWith("-") ? -MOST_PAWNS : MOST_PAWNS) : Number(after.text)),
    ]);
    if (searched.length) lines.push({ name: "Searched", points: searched, colour: COLOURS[2], kind: "line" });
    [...terms].forEach((name, index) =>
        lines.push({
            name: spaced(name),
            colour: COLOURS[[0, 1, 3, 4, 5, 6][index % 6]],
            points: course.points.map((point, ply) => [ply, (point.terms[name] ?? 0) / 100]),
        }),
    );
    return lines;
}

function marks() {
    const clip = (value) => Math.max(-MOST_PAWNS, Math.min(MOST_PAWNS, value));
    return [...found.values()]
        .filter((move) => move.grade)
        .sort((a, b) => a.ply - b.ply)
        .map((move) => {
            const point = course.points[move.ply];
            const isWhite = (move.ply + (state.fen.split(" ")[1] === "b" ? 1 : 0)) % 2 === 1;
            return {
                x: move.ply,
                y: clip(point.score_cp / 100),
                kind: move.grade.name,
                below: isWhite,
                text: found.size < 60 || move.grade.name !== "inaccuracy" ? `${move.san}${move.grade.sign}` : "",
                title: `${moveNumber(move.ply)} ${move.san}${move.grade.sign} ${move.grade.name}, ${percent(move.loss, 1)} lost`,
            };
        });
}

export function makeGames(panel, isShown) {
    graph = chart({
        label: "The course of the evaluation",
        height: 270,
        choose: (x) => goTo(Math.round(x)),
        read: () => ({
            series: series(),
            marks: marks(),
            at: state.at,
            x: [0, Math.max(1, state.moves.length)],
            xName: "half-moves",
            yName: "pawns for White",
            yDigits: 0,
        }),
    });
    graph.id = "course";
    graph.tabIndex = 0;
    graph.setAttribute("role", "slider");
    graph.setAttribute("aria-label", "Half-move of the game");
    graph.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1, Home: -state.moves.length, End: state.moves.length }[event.key];
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        goTo(state.at + step);
    });
    draw = () => {
        if (!isShown()) return;
        graph.setAttribute("aria-valuemin", 0);
        graph.setAttribute("aria-valuemax", state.moves.length);
        graph.setAttribute("aria-valuenow", state.at);
        const open = async () => {
            try {
                await openPgn();
            } catch (error) {
                showError(error.message);
            }
        };
        const names = [...new Set(course.points.flatMap((point) => Object.keys(point.terms)))]
            .map((name) => [name, Math.max(...course.points.map((point) => Math.abs(point.terms[name] ?? 0)))])
            .sort((a, b) => b[1] - a[1])
            .map(([name]) => name);
        const game = chosen >= 0 ? games[chosen] : null;
        const mistakes = [...found.values()].filter((move) => move.grade).sort((a, b) => a.ply - b.ply);
        const isOpen = panel.querySelector("details")?.open;
        replace(
            panel,
            h(
                "div",
                { class: "panel-bar" },
                h("button", { type: "button", id: "open-pgn", onclick: open }, "Open a PGN file"),
                games.length
                    ? h(
                          "label",
                          {},
                          plural(games.length, "game"),
                          " ",
                          h(
                              "select",
                              { id: "game-chosen", onchange: (event) => choose(Number(event.target.value)) },
                              games.map((each, index) =>
                                  h(
                                      "option",
                                      { value: index, selected: index === chosen },
                                      `${each.number}. ${each.label} ${each.result}`,
                                  ),
                              ),
                          ),
                      )
                    : h(
                          "span",
                          { class: "note" },
                          "or paste one into the box at the top. The game on the board is below.",
                      ),
                remark ? h("span", { class: "note" }, remark) : null,
            ),
            game
                ? h(
                      "dl",
                      { class: "tags" },
                      Object.entries(game.tags)
                          .filter(([, value]) => value && value !== "?" && !/^\?{4}/.test(value))
                          .slice(0, 12)
                          .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
                  )
                : null,
            game?.fault ? h("p", { class: "fault" }, game.fault) : null,
            state.moves.length
                ? [
                      graph,
                      h(
                          "div",
                          { class: "panel-bar" },
                          h(
                              "button",
                              { type: "button", id: "annotate", class: working ? "on" : "main", onclick: annotate },
                              working ? "Stop" : "Find mistakes",
                          ),
                          h(
                              "label",
                              {},
                              "Nodes per move ",
                              h(
                                  "select",
                                  {
                                      id: "annotate-nodes",
                                      onchange: (event) => {
                                          nodes = Number(event.target.value);
                                      },
                                  },
                                  [2000, 20000, 50000, 200000].map((count) =>
                                      h(
                                          "option",
                                          { value: count, selected: count === nodes },
                                          count.toLocaleString("en"),
                                      ),
                                  ),
                              ),
                          ),
                          h(
                              "span",
                              { class: "note", id: "annotate-state" },
                              working ? `${found.size} of ${state.moves.length}` : "",
                          ),
                      ),
                      account.length ? h("p", { class: "summary" }, account.join(" ")) : null,
                      mistakes.length
                          ? h(
                                "ol",
                                { class: "mistakes" },
                                mistakes.map((move) =>
                                    h(
                                        "li",
                                        {},
                                        h(
                                            "button",
                                            {
                                                type: "button",
                                                class: `plain ${move.grade.name}`,
                                                onclick: () => goTo(move.ply),
                                            },
                                            h("i", { style: { background: GRADES[move.grade.name] } }),
                                            `${moveNumber(move.ply)} ${move.san}${move.grade.sign}`,
                                        ),
                                        ` ${move.grade.name}, ${percent(move.loss, 1)} lost`,
                                        move.better.line
                                            ? h(
                                                  "div",
                                                  { class: "note" },
                                                  `Better ${move.better.text}: ${move.better.line}`,
                                              )
                                            : null,
                                    ),
                                ),
                            )
                          : null,
                      h(
                          "details",
                          { open: isOpen },
                          h("summary", {}, "Terms in the graph"),
                          h(
                              "div",
                              { class: "checks" },
                              names.map((name) =>
                                  h(
                                      "label",
                                      {},
                                      h("input", {
                                          type: "checkbox",
                                          "data-term": name,
                                          checked: terms.has(name),
                                          onchange: (event) => {
                                              if (event.target.checked) terms.add(name);
                                              else terms.delete(name);
                                              graph.redraw();
                                          },
                                      }),
                                      spaced(name),
                                  ),
                              ),
                          ),
                      ),
                  ]
                : h(
                      "p",
                      { class: "empty" },
                      state.mode === "free"
                          ? "Free mode has no moves: its position stands alone."
                          : "Play or paste moves, and their course is drawn here.",
                  ),
        );
        graph.redraw();
    };
    listen((topics) => {
        if (!isShown()) return;
        if (topics.has("report") || topics.has("tab") || topics.has("weights")) {
            if (course.key === key() || !state.moves.length) {
                if (topics.has("tab") || !state.moves.length) draw();
                else {
                    graph.setAttribute("aria-valuenow", state.at);
                    graph.redraw();
                }
            } else askCourse();
        }
    });
}
