// One player of the games that are loaded: what their moves say of them, and exercises from their mistakes.

import { recall, keep } from "../base/browser_storage.js";
import { button, byId, h, panelBar, percent, plural, replace, say, showError, tellError } from "../base/dom.js";
import { Work } from "../base/work.js";
import { listen } from "../state/store.js";
import { closePractice, drillSection, makeDrilling, openPractice } from "./drilling.js";
import { loadedGames, openPgn } from "./games.js";
import { profileSections } from "./profile_report.js";

const NAMED = 60; // players to choose from, the most frequent first

let wanted = recall("player", "");
/** @type {string | null} */
let typed = null; // a name, and not taken from those of the games
/** @type {any} */
let working = null; // "profile" or "drill"
let progress = "";
/** @type {any} */
let profile = null;
let begun = 0; // how often work was, or was stopped before its games were read
let draw = () => {};

const works = { profile: workOf("profile", showProfile), drill: workOf("drill", openPractice) };

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
    progress = "Starting; this part is compiled first, once";
    if (kind === "profile") profile = null;
    draw();
    const number = ++begun;
    const isWanted = () => number === begun && games.source === studied;
    try {
        const asked = await games.request();
        if (isWanted()) works[kind].begin({ ...asked, player: wanted });
    } catch (error) {
        if (!isWanted()) return;
        working = null;
        tellError(error);
        draw();
    }
}

/** Stop the work, or end it before it begins, while the games are read. */
function stop() {
    if (works[working].isRunning) {
        works[working].stop();
        return;
    }
    begun += 1;
    working = null;
    progress = "";
    draw();
}

function workOf(kind, done) {
    const told = (message) => {
        progress = `${message.what} ${percent(message.done)}`;
        byId("player-state").textContent = progress;
    };
    const ended = () => {
        working = null;
        progress = "";
        draw();
    };
    const doneNow = (message) => loadedGames()?.source === studied && done(message); // else others are being listed
    return new Work(`/ws/${kind}`, { told, done: doneNow, ended });
}

function showProfile(message) {
    profile = message.profile;
    say(`The profile of ${profile.player} is ready`);
}

function nameField(games) {
    const names = games.players(NAMED);
    const isThere = games.players(Infinity).some(([name]) => name.toLowerCase().includes(wanted.toLowerCase()));
    return h(
        "label",
        {},
        "Player ",
        h("input", {
            id: "player-name",
            type: "text",
            list: "player-names",
            value: typed ?? ((isThere && wanted) || names[0]?.[0] || ""),
            oninput: ({ target }) => {
                typed = target.value;
            },
            placeholder: "a name, or a part of it",
            spellcheck: "false",
            autocomplete: "off",
        }),
        h(
            "datalist",
            { id: "player-names" },
            names.map(([name, count]) => h("option", { value: name }, plural(count, "game"))),
        ),
    );
}

function buttons() {
    if (working) return button("player-stop", "Stop", stop, { class: "on" });
    return [
        button("profile-start", "Profile", () => begin("profile"), { class: "main" }),
        button("drill-start", "Exercises from mistakes", () => begin("drill")),
    ];
}

function nothing() {
    return [
        h("p", { class: "empty" }, "Open games first: a player is looked for in the games listed under Games."),
        h("div", { class: "panel-bar middle" }, button("player-open", "Open a PGN file", openPgn, { class: "main" })),
    ];
}

function drawPanel(panel) {
    const games = loadedGames();
    if (!games) {
        replace(panel, nothing());
        return;
    }
    replace(
        panel,
        panelBar(nameField(games), buttons(), h("span", { class: "note", id: "player-state" }, progress)),
        h("p", { class: "note" }, `Of ${plural(games.count, "game")} in ${games.name}.`),
        drillSection(),
        profile ? profileSections(profile) : null,
    );
}

/** @type {any} */
let studied = null; // the source of the games that all here is about

function followGames() {
    const source = loadedGames()?.source;
    if (source === studied) return;
    studied = source;
    typed = null;
    for (const work of Object.values(works)) work.drop();
    working = profile = null;
    progress = "";
    closePractice();
}

export function makePlayer(panel, isShown) {
    draw = () => {
        if (isShown()) drawPanel(panel);
    };
    makeDrilling(draw);
    listen((topics) => {
        if (topics.has("games")) followGames();
        if (topics.has("tab") || topics.has("games")) draw();
    });
    followGames();
    draw();
}
