// What a player's moves say: what they lose, when and in which openings, and the mistakes. What may be chance is left out.

import { h, percent, plural } from "../base/dom.js";
import { groupTable, kindTable, openingTable } from "./profile_tables.js";

const MAX_OPENINGS = 8; // of a colour

const note = (...text) => h("p", { class: "note" }, ...text);

function overTime({ by, periods, change, direction }) {
    if (!direction) return null;
    const lost = `${percent(Math.abs(change), 1)} of a point ${direction > 0 ? "less" : "more"}`;
    return [
        h("h4", {}, `Over time, by ${by}`),
        groupTable("profile-time", "Period", periods),
        note(`In the later half a move loses ${lost}.`),
    ];
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

function mistakes(profile) {
    const { count, kinds, plies } = profile.mistakes;
    if (!count) return [h("h4", {}, "Mistakes"), note("No mistakes found.")];
    const seen = plies.map(seenBy).join(", ");
    return [
        h("h4", {}, "Mistakes made most"),
        kindTable("profile-kinds", kinds),
        note(`Of ${plural(count, "mistake")}, so many are seen by looking beyond the move: ${seen}.`),
    ];
}

/** The whole profile, as the server tells it. */
export function profileSections(profile) {
    const rating = profile.rating === null ? "" : `, rating ${profile.rating}`;
    const moves = `${plural(profile.moves, "move")} after the opening`;
    return h(
        "section",
        { id: "profile", "aria-label": `Profile of ${profile.player}` },
        h("h3", {}, `${profile.player}${rating}`),
        h("p", { class: "summary" }, `${plural(profile.games, "game")}, ${moves}. `, profile.left_out),
        h("h4", {}, "What the moves lose"),
        groupTable("profile-parts", "Moves", profile.parts),
        note("Of a point a move. A mistake loses a tenth or more."),
        overTime(profile.over_time),
        openings(profile),
        mistakes(profile),
        note("In brackets: the 95% interval."),
    );
}
