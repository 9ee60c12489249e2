// The new weights play the old ones, live: the games as they come, how it stands, and what decides.

import { get, post } from "../base/api.js";
import { button, guarded, h, number, panelBar, percent, plural, say } from "../base/dom.js";
import { Work } from "../base/work.js";
import { Replay } from "../board/replay.js";
import { setGame, watchBoard } from "../state/store.js";

const MAX_SHOWN = 60; // games in the list

/** @type {{trial: any, standing: any, games: any[], verdict: string | null, interrupted: boolean}} */
const NOTHING = { trial: null, standing: null, games: [], verdict: null, interrupted: false };

let match = NOTHING;
/** @type {any} */
let usual = null; // how a match is played, as the server has told
/** @type {any} */
let replay = null;
let draw = () => {};

const TOLD = {
    trial: (message) => {
        match = { ...match, trial: message };
    },
    game: ({ fens, standing, ...game }) => {
        match = { ...match, standing, games: [game, ...match.games] };
        if (fens.length) replay.offer({ title: titleOf(game), fens, moves: game.moves });
    },
};

const work = new Work("/ws/match", {
    told: (message) => {
        TOLD[message.type](message);
        follow();
    },
    done: ({ standing, verdict, interrupted }) => {
        match = { ...match, standing, verdict, interrupted };
        say(verdictWords());
    },
    ended: () => draw(),
});

/** Whether a match is being played. */
export const isMatchOn = () => work.isRunning;

/** Forget the match; one that is being played ends. */
export function clearMatch() {
    work.drop();
    replay?.clear();
    match = NOTHING;
}

/** What the server tells of the match that it plays, or has played: who plays, null without one. */
export async function matchAtServer() {
    const found = await get("/api/match");
    usual = found.usual;
    return found.match;
}

/** What is shared of a match: nothing before it has ended. */
export const matchResult = () =>
    match.verdict === null || !match.standing?.games
        ? null
        : {
              games: match.standing.games,
              wins: match.standing.wins,
              draws: match.standing.draws,
              losses: match.standing.losses,
              elo: match.standing.elo,
              elo_error: match.standing.elo_error,
              verdict: match.verdict,
          };

/** Play a match, or with `{ follow: true }` see the one that the server plays. */
export function beginMatch(asked) {
    clearMatch();
    replay ??= new Replay();
    match = { ...NOTHING, games: [] };
    work.begin(asked);
    draw();
}

const namesOf = (game) => (game.white === "new" ? "new – old" : "old – new");
const titleOf = (game) => `Game ${game.number}: ${namesOf(game)}, ${game.result}, ${game.reason}`;

const STOPPED = "Stopped before it was settled.";
const VERDICTS = {
    H1: "The new weights have passed: they gain on the old ones.",
    H0: "The new weights have failed: they do not gain on the old ones, and may lose.",
    "": "Not settled: so many games do not decide.",
};

const verdictWords = () =>
    match.verdict === null ? "" : match.interrupted && !match.verdict ? STOPPED : VERDICTS[match.verdict];

/** How it stands, in words. */
function standingWords() {
    const { standing, trial } = match;
    if (!standing?.games)
        return isMatchOn() ? "The first games are being played; this part is compiled first, once." : "";
    const { games, wins, draws, losses, elo, elo_error: error } = standing;
    const points = (wins + draws / 2) / games;
    const strength = elo === null || error === null ? "" : `, Elo ${number(elo, 0, true)} ± ${number(error, 0)}`;
    const most = trial && isMatchOn() ? ` of ${trial.most.toLocaleString("en")} at most` : "";
    return `${plural(games, "game")}${most}: ${wins} won, ${draws} drawn, ${losses} lost by the new (${percent(points)} of the points${strength}).`;
}

/** How far the evidence has come toward one of its bounds. */
function evidence() {
    const { trial, standing } = match;
    if (!trial || !standing) return null;
    const [low, high] = trial.bounds;
    const share = Math.min(1, Math.max(0, (standing.llr - low) / (high - low)));
    const words = `Evidence ${number(standing.llr, 2, true)}: fails at ${number(low, 2)}, passes at ${number(high, 2, true)}`;
    return [
        h(
            "div",
            { class: "evidence", role: "img", "aria-label": words },
            h("i", { style: { left: percent(share, 1) } }),
        ),
        h("p", { class: "note" }, `${words} (${trial.test}).`),
    ];
}

const openGame = guarded(async (game) => {
    const isAsBefore = watchBoard();
    const read = await post("/api/read", { text: game.moves.join(" "), fen: game.fen });
    const tags = { White: game.white, Black: game.white === "new" ? "old" : "new", Result: game.result };
    if (!isAsBefore()) return;
    await setGame({ ...read.games[0], label: namesOf(game), tags }, 0);
    say(`${titleOf(game)}, on the board`);
});

const gameItem = (game) =>
    h(
        "li",
        {},
        h(
            "button",
            { type: "button", class: "plain", title: "Show this game on the board", onclick: () => openGame(game) },
            titleOf(game),
        ),
    );

/** @type {Record<string, any>} */
const followed = { words: null, evidence: null, games: null, listed: 0 };

/** Put the games that have ended since on top of the list; while one is pointed at, none moves away from under it. */
function listGames() {
    if (followed.games.matches(":hover")) return;
    const ended = match.games.slice(0, match.games.length - followed.listed);
    followed.games.prepend(...ended.slice(0, MAX_SHOWN).map(gameItem));
    while (followed.games.children.length > MAX_SHOWN) followed.games.lastElementChild.remove();
    followed.listed = match.games.length;
}

/** Show what has changed since the last game, without drawing the rest anew. */
function follow() {
    if (!followed.words?.isConnected) return;
    followed.words.textContent = standingWords();
    followed.evidence.replaceChildren(...(evidence() ?? []));
    listGames();
}

function matchButton(players) {
    if (isMatchOn()) return button("match-stop", "Stop", () => work.stop(), { class: "on" });
    const label = match.verdict === null ? "Let the new play the old" : "Let them play again";
    return button("match-start", label, () => beginMatch(players()), { class: "main" });
}

const howPlayed = () => {
    const nodes = match.trial?.nodes ?? usual?.nodes;
    const told = nodes ? `${nodes.toLocaleString("en")} nodes a move; it goes on when this tab is closed. ` : "";
    return `${told}A lower error is not yet more strength.`;
};

/** The match: `players` gives the request for both; `redraw` draws the panel. */
export function matchSection(players, redraw) {
    draw = redraw;
    replay ??= new Replay();
    const hasBegun = isMatchOn() || match.games.length > 0;
    followed.words = h("p", { id: "match-standing" }, standingWords());
    followed.evidence = h("div", {}, evidence());
    const label = "Games of the match, the last first";
    followed.games = h("ol", { class: "match-games", id: "match-games", "aria-label": label });
    followed.listed = 0;
    listGames();
    return [
        panelBar(matchButton(players), h("span", { class: "note", id: "match-how" }, howPlayed())),
        hasBegun
            ? h(
                  "div",
                  { class: "match" },
                  replay.box,
                  h("div", { class: "match-words" }, followed.words, followed.evidence, followed.games),
              )
            : null,
        h("p", { class: "summary", id: "match-verdict", role: "status" }, verdictWords()),
    ];
}
