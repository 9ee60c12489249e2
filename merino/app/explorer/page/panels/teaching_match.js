// The new weights play the old ones, live: the games as they come, how it stands, and what decides.

import { byId, h } from "../base/dom.js";
import { guarded, say } from "../base/flow.js";
import { number, percent, plural, thousands } from "../base/words.js";
import { Work, get, post } from "../base/server.js";
import { setGame, watchBoard } from "../state/store.js";

const MAX_SHOWN = 60; // games in the list
const STOPPED = "Stopped before it was settled.";
const VERDICTS = {
    H1: "The new weights have passed: they gain on the old ones.",
    H0: "The new weights have failed: they do not gain on the old ones, and may lose.",
    "": "Not settled after all its games.",
};

/** @type {{trial: any, standing: any, games: any[], verdict: string | null, interrupted: boolean}} */
const NOTHING = { trial: null, standing: null, games: [], verdict: null, interrupted: false };

let match = NOTHING;
/** @type {any} */
let usual = null; // how a match is played, as the server says

const work = new Work("/ws/match", {
    heard: ({ type, ...message }) => {
        if (type === "trial") match = { ...match, trial: message };
        else match = { ...match, standing: message.standing, games: [message, ...match.games] };
        drawMatch();
    },
    done: ({ standing, verdict, interrupted }) => {
        match = { ...match, standing, verdict, interrupted };
        say(verdictWords());
    },
    ended: () => drawMatch(),
});

/** Whether a match is being played. */
export const isMatchOn = () => work.isRunning;

/** Forget the match; one that is being played ends. */
export function clearMatch() {
    work.drop();
    match = NOTHING;
    listed = 0;
    byId("match-games").replaceChildren();
}

/** What the server says of the match that it plays, or has played: who plays, null without one. */
export async function matchAtServer() {
    const found = await get("/api/match");
    usual = found.usual;
    return found.match;
}

/** Play a match, or with `{ follow: true }` see the one that the server plays. */
export function beginMatch(asked) {
    clearMatch();
    work.begin(asked);
    drawMatch();
}

const namesOf = (game) => (game.white === "new" ? "new – old" : "old – new");
const titleOf = (game) => `Game ${game.number}: ${namesOf(game)}, ${game.result}, ${game.reason}`;

function verdictWords() {
    if (match.verdict === null) return "";
    return match.interrupted && !match.verdict ? STOPPED : VERDICTS[match.verdict];
}

/** How it stands, in words. */
function standingWords() {
    const { standing, trial } = match;
    if (!standing?.games)
        return isMatchOn() ? "The first games are being played; this part is compiled first (once)." : "";
    const { games, wins, draws, losses, elo, elo_error: error } = standing;
    const points = percent((wins + draws / 2) / games);
    const strength = elo === null || error === null ? "" : `, Elo ${number(elo, 0, true)} ± ${number(error)}`;
    const most = trial && isMatchOn() ? ` of ${thousands(trial.most)} at most` : "";
    return `${plural(games, "game")}${most}: ${wins} won, ${draws} drawn, ${losses} lost by the new (${points} of the points${strength}).`;
}

/** Show how far the evidence has come toward one of its bounds. */
function drawEvidence() {
    const { trial, standing } = match;
    byId("match-evidence").hidden = byId("match-words").hidden = !trial || !standing;
    if (!trial || !standing) return;
    const [low, high] = trial.bounds;
    const share = Math.min(1, Math.max(0, (standing.llr - low) / (high - low)));
    const words = `Evidence ${number(standing.llr, 2, true)}: fails at ${number(low, 2)}, passes at ${number(high, 2, true)}`;
    byId("match-evidence").setAttribute("aria-label", words);
    byId("match-evidence").firstElementChild.style.left = percent(share, 1);
    byId("match-words").textContent = `${words} (${trial.test}).`;
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
    h("li", h("button.plain", { title: "Show this game on the board", onclick: () => openGame(game) }, titleOf(game)));

let listed = 0; // games that are in the list, or were

/** Put the games that have ended since on top of the list; while one is pointed at, none moves away from under it. */
function listGames() {
    const list = byId("match-games");
    if (list.matches(":hover")) return;
    const ended = match.games.slice(0, match.games.length - listed);
    list.prepend(...ended.slice(0, MAX_SHOWN).map(gameItem));
    while (list.children.length > MAX_SHOWN) list.lastElementChild.remove();
    listed = match.games.length;
}

/** Show how the match stands. */
export function drawMatch() {
    const nodes = match.trial?.nodes ?? usual?.nodes;
    const how = nodes ? `${thousands(nodes)} nodes a move; it goes on when this tab is closed. ` : "";
    byId("match-how").textContent = `${how}A lower error is not yet more strength.`;
    byId("match-start").textContent = match.verdict === null ? "Let the new play the old" : "Let them play again";
    byId("match-start").hidden = isMatchOn();
    byId("match-stop").hidden = !isMatchOn();
    byId("match").hidden = !isMatchOn() && !match.games.length;
    byId("match-standing").textContent = standingWords();
    byId("match-verdict").textContent = verdictWords();
    drawEvidence();
    listGames();
}

/** `players` gives the request for both. */
export function makeMatch(players) {
    byId("match-start").onclick = () => beginMatch(players());
    byId("match-stop").onclick = () => work.stop();
}
