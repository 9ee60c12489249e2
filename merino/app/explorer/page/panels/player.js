// One player of the games that are loaded: what their moves say of them, and exercises from their mistakes.

import { byId, h, note, plainTable, replace, tableRow } from "../base/dom.js";
import { guarded, reportError, say, showError, turns } from "../base/flow.js";
import { number, percent, plural, thousands } from "../base/words.js";
import { keep, recall } from "../base/kept.js";
import { Work } from "../base/server.js";
import { judged } from "../state/analysis.js";
import { listen, question, setGame } from "../state/store.js";
import { closePractice, drillSection, makeDrilling, openPractice } from "./drilling.js";
import { loadedGames, openPgn } from "./games.js";

const NAMED = 60; // players to choose from, the most frequent first
const MAX_OPENINGS = 8; // of a colour

let wanted = recall("player", "");
/** @type {any} */
let working = null; // "profile" or "drill"
let progress = "";
/** @type {any} */
let profile = null;
/** @type {any} */
let studied = null; // the source of the games that all here is about
let draw = () => {};
const beginWork = turns();

const exampleButton = (example) =>
    h(
        "button.plain.example-move",
        {
            title: `Game ${example.game}, ${example.title}: show the position before it`,
            onclick: guarded(() => setGame({ fen: example.fen, label: example.title })),
        },
        example.move,
    );

/** A share with its interval, by the name of its field: "3.0% (2.1 to 4.0)". */
const share = (row, name) =>
    `${percent(row[name], 1)} (${number(100 * row[`${name}_low`], 1)} to ${number(100 * row[`${name}_high`], 1)})`;

/** What groups of moves lose, of those with enough games. */
function groupTable(id, head, groups) {
    const enough = groups.filter((group) => group.is_enough);
    if (!enough.length) return note("Not enough games.");
    const row = (group) =>
        tableRow(group.name, [thousands(group.moves), share(group, "loss"), share(group, "mistakes")]);
    return plainTable(id, [head, "Number", "Lost a move", "Mistakes"], enough.map(row));
}

function openingRows(opening) {
    const { name, eco, games, won, drawn, lost, moves, kinds } = opening;
    const codes = eco.length > 1 ? ` (${eco[0]}\u2013${eco.at(-1)})` : eco.length ? ` (${eco[0]})` : "";
    const row = tableRow(`${name}${codes}`, [
        thousands(games),
        `+${won} =${drawn} \u2212${lost}`,
        opening.is_enough ? share(opening, "score") : "\u2013",
        moves?.is_enough ? share(moves, "loss") : "\u2013",
    ]);
    const [kind] = kinds;
    if (!kind || kind.count < 2) return [row];
    const often = [`Most often: ${kind.kind}, ${kind.count}`, kind.examples.map(exampleButton)];
    return [row, h("tr", h("td.examples-cell", { colspan: 5 }, often))];
}

/** Results, losses and the most frequent mistake of openings. */
const openings = ({ openings: all }) =>
    ["White", "Black"].map((colour) => {
        const own = all.filter((opening) => opening.colour === colour);
        if (!own.length) return null;
        const rest = own.slice(MAX_OPENINGS);
        const games = rest.reduce((sum, opening) => sum + opening.games, 0);
        const heads = ["Opening", "Games", "Results", "Points", "Lost a move"];
        const id = `profile-openings-${colour.toLowerCase()}`;
        return [
            h("h4", `Openings with ${colour}`),
            plainTable(id, heads, own.slice(0, MAX_OPENINGS).flatMap(openingRows)),
            rest.length ? note(`And ${plural(games, "game")} with ${plural(rest.length, "other opening")}.`) : null,
        ];
    });

function overTime({ by, periods, change, direction }) {
    if (!direction) return null;
    const lost = `${percent(Math.abs(change), 1)} of a point ${direction > 0 ? "less" : "more"}`;
    const table = groupTable("profile-time", "Period", periods);
    return [h("h4", `Over time, by ${by}`), table, note(`In the later half a move loses ${lost}.`)];
}

const within = (plies) => (plies === null ? "farther" : plural(plies, "ply", "plies"));

/** The kinds of mistakes, and how far one must look to see half of them. */
function mistakes({ count, kinds, plies }) {
    if (!count) return [h("h4", "Mistakes"), note("No mistakes found.")];
    const row = (kind) => {
        const examples = h("td.examples-cell", kind.examples.map(exampleButton));
        return tableRow(kind.kind, [thousands(kind.count), share(kind, "share"), within(kind.plies), examples]);
    };
    const seen = plies.map((each) => `${each.mistakes} ${each.plies === null ? "" : "by "}${within(each.plies)}`);
    return [
        h("h4", "Mistakes made most"),
        plainTable("profile-kinds", ["Mistake", "Number", "Of all", "Seen within", "Such as"], kinds.map(row)),
        note(`Of ${plural(count, "mistake")}, so many are seen by looking beyond the move: ${seen.join(", ")}.`),
    ];
}

/** The whole profile, as the server says it: what the moves lose, when and in which openings, and the mistakes; what may be chance is left out. */
export function profileSections(found) {
    const { player, rating, games, moves, left_out: leftOut, parts } = found;
    const counts = `${plural(games, "game")}, ${plural(moves, "move")} after the opening. `;
    return h(
        "section#profile",
        { "aria-label": `Profile of ${player}` },
        h("h3", `${player}${rating === null ? "" : `, rating ${rating}`}`),
        h("p.summary", counts, leftOut),
        h("h4", "What the moves lose"),
        groupTable("profile-parts", "Moves", parts),
        note("Losses are shares of a point per move; a mistake loses a tenth or more."),
        overTime(found.over_time),
        openings(found),
        mistakes(found.mistakes),
        note("In brackets: the 95% interval."),
    );
}

const works = {
    profile: workOf("profile", (message) => {
        profile = message.profile;
        say(`The profile of ${profile.player} is ready`);
    }),
    drill: workOf("drill", openPractice),
};

function workOf(kind, done) {
    const heard = (message) => {
        progress = `${message.what} ${percent(message.done)}`;
        byId("player-state").textContent = progress;
    };
    const doneNow = (message) => loadedGames()?.source === studied && done(message); // else others are being listed
    return new Work(`/ws/${kind}`, { heard, done: doneNow, ended: endWork });
}

function endWork() {
    working = null;
    progress = "";
    draw();
}

async function begin(kind) {
    const games = loadedGames();
    if (!games) return;
    followGames();
    wanted = byId("player-name").value.trim();
    if (!wanted) {
        showError("Name a player, or a part of the name");
        byId("player-name").focus();
        return;
    }
    keep("player", wanted);
    showError(null);
    working = kind;
    progress = "Starting; this part is compiled first (once)";
    if (kind === "profile") profile = null;
    draw();
    const isLast = beginWork();
    const isWanted = () => isLast() && games.source === studied;
    try {
        const asked = await games.request();
        if (isWanted()) works[kind].begin(judged({ ...question(), ...asked, player: wanted }));
    } catch (error) {
        if (!isWanted()) return;
        reportError(error);
        endWork();
    }
}

/** Stop the work, or end it before it begins, while the games are read. */
function stop() {
    if (works[working].isRunning) works[working].stop();
    else {
        beginWork();
        endWork();
    }
}

/** The player who was studied last, if the games have them, or else the one with the most games. */
function usualPlayer(games) {
    const isThere = games.players(Infinity).some(([name]) => name.toLowerCase().includes(wanted.toLowerCase()));
    return (isThere && wanted) || games.players(1)[0]?.[0] || "";
}

function drawPanel() {
    const games = loadedGames();
    byId("player-nothing").hidden = games !== null;
    byId("player-work").hidden = games === null;
    byId("player-stop").hidden = !working;
    byId("profile-start").hidden = byId("drill-start").hidden = Boolean(working);
    byId("player-state").textContent = progress;
    replace(byId("player-found"), games && [drillSection(), profile && profileSections(profile)]);
    if (!games) return;
    byId("player-games").textContent = `Of ${plural(games.count, "game")} in ${games.name}.`;
    const option = ([value, count]) => h("option", { value }, plural(count, "game"));
    byId("player-names").replaceChildren(...games.players(NAMED).map(option));
    byId("player-name").value ||= usualPlayer(games);
}

function followGames() {
    const source = loadedGames()?.source;
    if (source === studied) return;
    studied = source;
    byId("player-name").value = "";
    for (const work of Object.values(works)) work.drop();
    working = profile = null;
    progress = "";
    closePractice();
}

export function makePlayer(_, isShown) {
    draw = () => {
        if (isShown()) drawPanel();
    };
    byId("player-open").onclick = openPgn;
    byId("profile-start").onclick = () => begin("profile");
    byId("drill-start").onclick = () => begin("drill");
    byId("player-stop").onclick = stop;
    makeDrilling(draw);
    listen((topics) => {
        if (topics.has("games")) followGames();
        if (topics.has("tab") || topics.has("games")) draw();
    });
    followGames();
    draw();
}
