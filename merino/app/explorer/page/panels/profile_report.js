// What a player's moves say: what they lose, when and in which openings, the mistakes, what is valued, and what draws.

import { h, number, percent, plainTable, plural, shortName } from "../base/dom.js";
import {
    NOT_ENOUGH,
    foretoldRow,
    groupTable,
    habitRow,
    kindTable,
    openingTable,
    tasteTable,
} from "./profile_tables.js";

const MAX_OPENINGS = 8; // of a colour
// By whether it is a fault, and whether it counts more than for Merino.
/** @type {[boolean, boolean, string, string][]} */
const TASTES = [
    [false, true, "Valued more than by Merino", "more"],
    [false, false, "Valued less than by Merino", "less"],
    [true, true, "Minded more than by Merino", "minded"],
    [true, false, "Minded less than by Merino", "unminded"],
];

const note = (...text) => h("p", { class: "note" }, ...text);

function tastes(profile) {
    const clear = profile.terms.filter((taste) => taste.is_clear);
    if (!clear.length)
        return [h("h4", {}, "What is valued"), note(`${NOT_ENOUGH}: everything may be valued as Merino does.`)];
    return TASTES.map(([isFault, isMore, title, id]) => {
        const chosen = clear.filter((taste) => taste.is_fault === isFault && taste.is_more === isMore);
        return chosen.length ? [h("h4", {}, title), tasteTable(`profile-${id}`, chosen, isFault)] : null;
    });
}

function overTime(profile) {
    const { by, periods, change, change_low, change_high, direction } = profile.over_time;
    const between = `${percent(Math.max(0, -change_low), 1)} of a point less and ${percent(Math.max(0, change_high), 1)} more`;
    const told =
        change === null
            ? `Whether less is lost later: ${NOT_ENOUGH}.`
            : direction
              ? `In the later half a move loses ${percent(Math.abs(change), 1)} of a point ${direction > 0 ? "less" : "more"}.`
              : `No change is sure: in the later half a move loses between ${between}.`;
    return [h("h4", {}, `Over time, by ${by}`), groupTable("profile-time", "Period", periods), note(told)];
}

function openings(profile) {
    return ["White", "Black"].map((colour) => {
        const own = profile.openings.filter((opening) => opening.colour === colour);
        if (!own.length) return null;
        const rest = own.slice(MAX_OPENINGS);
        const games = rest.reduce((sum, opening) => sum + opening.games, 0);
        return [
            h("h4", {}, `Openings with ${colour}`),
            openingTable(`profile-openings-${colour.toLowerCase()}`, own.slice(0, MAX_OPENINGS)),
            rest.length ? note(`And ${plural(games, "game")} with ${plural(rest.length, "other opening")}.`) : null,
        ];
    });
}

const seenBy = (row) =>
    row.plies === null ? `${row.mistakes} farther` : `${row.mistakes} by ${plural(row.plies, "ply", "plies")}`;

function temptation(found) {
    const fallen = Math.round(found.fallen * found.positions);
    return note(
        `Where the move that a search of ${found.nodes} nodes likes best is a mistake, as one of `,
        `${found.sees.toLocaleString("en")} sees, it was played in ${fallen} of ${plural(found.positions, "position")} `,
        `(${percent(found.fallen_low, 1)} to ${percent(found.fallen_high, 1)}); `,
        `others would in ${percent(found.others, 1)}.`,
    );
}

function mistakes(profile) {
    const { count, kinds, plies } = profile.mistakes;
    if (!count) return [h("h4", {}, "Mistakes"), note("No mistakes found.")];
    const seen = plies.map(seenBy).join(", ");
    return [
        h("h4", {}, "Mistakes made most"),
        kindTable("profile-kinds", kinds),
        note(`Of ${plural(count, "mistake")}, so many are seen by looking beyond the move: ${seen}.`),
        profile.temptations.filter((found) => found.is_enough).map(temptation),
    ];
}

function others({ rating, peers: [low, high] }) {
    if (rating !== null && rating >= low && rating <= high) return "players of this rating";
    return `strong players (${number(low)} to ${number(high)}); weaker ones are not known`;
}

/** The whole profile, as the server tells it. */
export function profileSections(profile) {
    const rating = profile.rating === null ? "" : `, rating ${profile.rating}`;
    const foretold = [["this profile", profile], ...Object.entries(profile.baselines)];
    const moves = `${plural(profile.moves, "move")} after the opening`;
    return h(
        "section",
        { id: "profile", "aria-label": `Profile of ${profile.player}` },
        h("h3", {}, `${profile.player}${rating}`),
        h("p", { class: "summary" }, `${plural(profile.games, "game")}, ${moves}. `, profile.left_out),
        h("h4", {}, "What the moves lose"),
        groupTable("profile-parts", "Moves", profile.parts),
        note("Of a point a move. A mistake loses a tenth or more."),
        overTime(profile),
        openings(profile),
        mistakes(profile),
        tastes(profile),
        note(`In brackets: where it lies with 95%. Others: ${others(profile)}.`),
        h("h4", {}, "What draws, where moves are as good as others"),
        plainTable("profile-habits", ["Kind of move", "As likely", "Others"], profile.habits.map(habitRow)),
        h("h4", {}, "How well the moves are foretold, in games kept apart"),
        plainTable(
            "profile-foretold",
            ["By", "At once", "In three", "Log-loss"],
            foretold.map(([name, told]) => foretoldRow(shortName(name), told)),
        ),
    );
}
