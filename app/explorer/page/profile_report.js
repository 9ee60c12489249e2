// What a player's moves say, as tables: what they lose and value, what draws them, and how well they are foretold.

import { h, number, percent, plainTable, plural, shortName, tellError, spaced } from "./dom.js";
import { setGame } from "./store.js";

const MAX_TASTES = 8;

const cells = (first, ...others) =>
    h(
        "tr",
        {},
        h("th", { scope: "row" }, first),
        others.map((text) => h("td", {}, text)),
    );

function exampleButton(example) {
    const show = () => setGame({ fen: example.fen, label: example.title }).catch(tellError);
    const title = `Game ${example.game}, ${example.title}: show the position before it`;
    return h("button", { type: "button", class: "plain example-move", title, onclick: show }, example.move);
}

const isClear = (taste) => taste.low > 0 || taste.high < 0;

function tasteRow(taste) {
    const row = cells(
        spaced(taste.name),
        number(taste.value, 1, true),
        `${number(taste.low, 1, true)} .. ${number(taste.high, 1, true)}`,
        number(taste.weight, 1),
        number(taste.others, 1, true),
    );
    row.append(h("td", { class: "examples-cell" }, taste.examples.map(exampleButton)));
    return row;
}

function tastes(profile) {
    const clear = profile.terms.filter(isClear).slice(0, MAX_TASTES);
    if (!clear.length)
        return h(
            "p",
            { class: "note" },
            "Not enough games: every interval holds 0, so all terms may be valued as Merino does.",
        );
    const heads = ["Term", "More than Merino", "95% interval", "Merino", "Others", "Such as"];
    return [
        plainTable("profile-tastes", heads, clear.map(tasteRow)),
        h("p", { class: "note" }, "Centipawns for one more of it. Others: players of this rating."),
    ];
}

const partRow = (part) =>
    cells(part.name, part.moves.toLocaleString("en"), percent(part.loss, 1), percent(part.mistakes, 1));

const habitRow = (habit) =>
    cells(
        habit.name,
        `${number(habit.factor, 2)} times`,
        `${number(habit.low, 2)} .. ${number(habit.high, 2)}`,
        number(habit.others, 2),
    );

/** @param {any[]} told a name, and how well the moves are foretold by it */
const foretoldRow = ([name, told]) =>
    cells(shortName(name), percent(told.top1, 1), percent(told.top3, 1), number(told.log_loss, 3));

function sights(profile) {
    const total = profile.sights.reduce((sum, sight) => sum + sight.mistakes, 0);
    if (!total) return "No mistakes found.";
    const told = profile.sights.map((sight) => `${sight.mistakes} of ${sight.nodes.toLocaleString("en")} nodes`);
    return `Of ${plural(total, "mistake")}, this many are first seen by a search: ${told.join(", ")}.`;
}

/** The whole profile, as the server tells it. */
export function profileSections(profile) {
    const rating = profile.rating === null ? "" : `, rating ${profile.rating}`;
    const moves = plural(profile.moves, "move");
    const foretold = [["this profile", profile], ...Object.entries(profile.baselines)];
    return h(
        "section",
        { id: "profile", "aria-label": `Profile of ${profile.player}` },
        h("h3", {}, `${profile.player}${rating}`),
        h(
            "p",
            { class: "summary" },
            `${plural(profile.games, "game")}, ${moves} after the opening. `,
            profile.faulty ? `${plural(profile.faulty, "faulty game")} left out. ` : "",
            sights(profile),
        ),
        h("h4", {}, "What the moves lose"),
        plainTable("profile-parts", ["Moves", "Number", "Points lost a move", "Mistakes"], profile.parts.map(partRow)),
        h("h4", {}, "What is valued more or less than by Merino"),
        tastes(profile),
        h("h4", {}, "What draws, where searches see no difference"),
        plainTable(
            "profile-habits",
            ["Kind of move", "As likely", "95% interval", "Others"],
            profile.habits.map(habitRow),
        ),
        h("h4", {}, "How well the moves are foretold, in games kept apart"),
        plainTable("profile-foretold", ["By", "First", "In three", "Log-loss"], foretold.map(foretoldRow)),
    );
}
