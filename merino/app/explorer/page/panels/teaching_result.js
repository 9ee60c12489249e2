// What becomes of new weights: kept in one of several ways, shared, or dropped; and those that somebody else has shared.

import { post } from "../base/api.js";
import {
    button,
    guarded,
    h,
    number,
    panelBar,
    plainTable,
    plural,
    saveFile,
    say,
    spaced,
    tableRow,
} from "../base/dom.js";
import { changed, refresh, state } from "../state/store.js";
import { asFile, asLink, ofFileText, ofLink } from "./shared_result.js";
import { loadWeights, saveWeights, useWeights } from "./weights.js";

const MAX_CHANGED = 12; // changes that are shared and listed
const SMALL = 0.5; // centipawns; less is no change to speak of

/** The largest changes of the weights, those that are clear first. */
const changedBy = (summary) =>
    summary.weights
        .filter((line) => Math.abs(line.new - line.old) >= SMALL)
        .sort((a, b) => Number(b.clear) - Number(a.clear) || Math.abs(b.new - b.old) - Math.abs(a.new - a.old))
        .slice(0, MAX_CHANGED)
        .map(({ name, old, new: value, clear }) => ({ name, old, new: value, clear }));

/** What can be shared of weights that were learned here, apart from their text and their match. */
export const resultOf = (record, name) => ({
    name,
    fit: {
        games: record.summary.games,
        before: record.summary.valid_before,
        after: record.summary.valid_after,
        accepted: record.summary.accepted,
    },
    changed: changedBy(record.summary),
});

async function whole(taught, match) {
    const { text } = await post("/api/weights/text", { weights: taught.id, changes: {} });
    return { name: taught.name, text, fit: taught.fit, match: match ?? taught.match ?? null, changed: taught.changed };
}

async function shareLink(taught, match) {
    await navigator.clipboard.writeText(await asLink(await whole(taught, match)));
    say("Link copied");
    showDone("The link is copied: it holds the whole result. Paste it into the box at the top of any explorer.");
}

async function shareFile(taught, match) {
    await saveFile("taught.json", asFile(await whole(taught, match)), "application/json");
    showDone("The file holds the whole result. Drop it on the page of any explorer.");
}

function showDone(text) {
    const place = document.getElementById("taught-done");
    if (place) place.textContent = text;
}

async function putInUse(taught, pinOld) {
    const question = `Merino will play with these weights from now on, everywhere. The old file is kept beside. Go on?`;
    if (!confirm(question)) return;
    await pinOld();
    const { lines } = await post("/api/weights/use", { weights: taught.id, changes: {} });
    state.edition += 1; // what was answered with those before is asked anew
    await loadWeights();
    changed("weights");
    await refresh();
    say("In use");
    showDone(lines.join(". "));
}

const changeRow = (change) =>
    tableRow(spaced(change.name), [
        number(change.old),
        h("td", { class: "strong" }, number(change.new)),
        number(change.new - change.old, 0, true),
        change.clear === null ? "" : change.clear ? "yes" : "no",
    ]);

/** What changed most, as a table. */
export const changedTable = (changed) =>
    changed.length
        ? plainTable("taught-changed", ["Weight", "Before", "After", "Change", "Clear"], changed.map(changeRow))
        : h("p", { class: "note" }, "No weight moved by half a centipawn.");

/** What a shared result says of itself. */
export function sharedWords({ name, fit, match }) {
    const parts = [name];
    if (fit)
        parts.push(
            `${plural(fit.games, "game")}, error on games kept apart ${fit.before.toFixed(6)} → ${fit.after.toFixed(6)}`,
        );
    if (match) {
        const elo = match.elo === null ? "" : `, Elo ${number(match.elo, 0, true)}`;
        parts.push(
            `match of ${plural(match.games, "game")}: ${match.wins} won, ${match.draws} drawn, ${match.losses} lost${elo}`,
        );
    }
    return `${parts.join("; ")}.`;
}

/** The ways to keep the weights, and to drop them; `pinOld` keeps the old ones apart from what is in use. */
export function keepBar(taught, match, { pinOld, drop }) {
    const trying = (id, label, action, more = {}) => button(id, label, guarded(action), more);
    return [
        panelBar(
            trying("learn-use", "Explore with them", () => useWeights(taught.id), { class: "main" }),
            trying("taught-in-use", "Put in use", () => putInUse(taught, pinOld)),
            trying("learn-save", "Save as weights file", () => saveWeights(taught.id, {})),
            trying("taught-link", "Copy a link", () => shareLink(taught, match())),
            trying("taught-file", "Share as a file", () => shareFile(taught, match())),
            button("taught-drop", "Drop them", drop),
        ),
        h("p", { class: "note", id: "taught-done", role: "status" }),
    ];
}

async function taken(taught) {
    const entry = await post("/api/weights", { name: taught.name, text: taught.text });
    await loadWeights();
    return { ...taught, id: entry.id };
}

/** Take what somebody has shared, by the text of the file or by the letters of the link. */
export const takeFile = async (text) => taken(ofFileText(text));
export const takeLink = async (letters) => taken(await ofLink(letters));
