// What becomes of new weights: kept in one of several ways, dropped, or shared with how they were learned and proved and
// what changed, as a file or a link; and those that somebody else has shared.

import {
    byId,
    bySize,
    guarded,
    h,
    note,
    number,
    plainTable,
    plural,
    replace,
    say,
    spaced,
    tableRow,
} from "../base/dom.js";
import { saveFile } from "../base/files.js";
import { post } from "../base/server.js";
import { changed, refresh, state } from "../state/store.js";
import { clearWord } from "./learning_report.js";
import { matchResult } from "./teaching_match.js";
import { loadWeights, saveWeights, useWeights } from "./weights.js";

const FORMAT = "merino taught 1";
const MAX_CHANGED = 12; // changes that are shared and listed
const SMALL = 0.5; // centipawns; less is no change to speak of

/**
 * @typedef {object} Taught
 * @property {string} name where the weights come from
 * @property {string} text the weights file
 * @property {{games: number, before: number, after: number, accepted: boolean} | null} fit errors on games kept apart
 * @property {{games: number, wins: number, draws: number, losses: number, elo: number | null,
 *     elo_error: number | null, verdict: string} | null} match of the new against the old
 * @property {{name: string, old: number, new: number, clear: boolean | null}[]} changed the largest changes first
 */

/** @param {any} data */
const isTaught = (data) =>
    data?.format === FORMAT &&
    [data.name, data.text].every((value) => typeof value === "string") &&
    [data.fit, data.match, data.changed].every((value) => typeof value === "object") &&
    Array.isArray(data.changed);

/** @param {Taught} taught */
const asFile = (taught) => JSON.stringify({ format: FORMAT, ...taught }, null, 1);

/** The JSON in a text; null where it holds none. */
function jsonIn(text) {
    try {
        return JSON.parse(text);
    } catch {
        return null;
    }
}

const through = async (bytes, stream) =>
    new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

/** The address of the page with the result in it; the reader's own explorer opens it.
 * @param {Taught} taught
 */
export async function asLink(taught) {
    const packed = await through(new TextEncoder().encode(asFile(taught)), new CompressionStream("deflate-raw"));
    const letters = btoa(String.fromCharCode(...packed));
    return `${location.origin}/#taught=${letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** The text of a file that was shared as a link, from the part of the address behind `taught=`. */
async function textOfLink(letters) {
    try {
        const packed = atob(letters.replaceAll("-", "+").replaceAll("_", "/"));
        const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
        return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
    } catch {
        throw new Error("the link is not whole: copy all of it");
    }
}

/** Take what somebody has shared, by the text of the file. */
export async function takeFile(text) {
    const data = jsonIn(text);
    if (!isTaught(data)) throw new Error("this is no result that Merino's explorer has shared");
    const { id } = await post("/api/weights", { name: data.name, text: data.text });
    await loadWeights();
    return { ...data, id };
}

/** The same by the letters of the link. */
export const takeLink = async (letters) => takeFile(await textOfLink(letters));

/** The largest changes of the weights, those that are clear first. */
const changesIn = (summary) =>
    summary.weights
        .filter((line) => Math.abs(line.new - line.old) >= SMALL)
        .sort(bySize((line) => line.new - line.old))
        .sort((a, b) => Number(b.clear) - Number(a.clear))
        .slice(0, MAX_CHANGED)
        .map(({ name, old, new: value, clear }) => ({ name, old, new: value, clear }));

/** What can be shared of weights that were learned here, apart from their text and their match. */
export function resultOf({ summary }, name) {
    const { games, valid_before: before, valid_after: after, accepted } = summary;
    return { name, fit: { games, before, after, accepted }, changed: changesIn(summary) };
}

async function whole({ id, name, fit, match, changed }, played) {
    const { text } = await post("/api/weights/text", { weights: id, changes: {} });
    return { name, text, fit, match: played ?? match ?? null, changed };
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

const showDone = (text) => {
    byId("taught-done").textContent = text;
};

async function putInUse(taught, pinOld) {
    const question = "Merino will play with these weights from now on, everywhere. The old file is kept. Go on?";
    if (!confirm(question)) return;
    await pinOld();
    const { lines } = await post("/api/weights/use", { weights: taught.id, changes: {} });
    state.edition += 1; // what was answered with those before is asked again
    await loadWeights();
    changed("weights");
    await refresh();
    say("In use");
    showDone(lines.join(". "));
}

/** What changed most, as a table. */
function changedTable(changes) {
    if (!changes.length) return note("No weight moved by half a centipawn.");
    const row = ({ name, old, new: value, clear }) =>
        tableRow(spaced(name), [
            number(old),
            h("td.strong", number(value)),
            number(value - old, 0, true),
            clearWord(clear),
        ]);
    return plainTable("taught-changed", ["Weight", "Before", "After", "Change", "Clear"], changes.map(row));
}

/** What a shared result says of itself. */
function sharedWords({ name, fit, match }) {
    const errors = fit && `error on games kept apart ${fit.before.toFixed(6)} → ${fit.after.toFixed(6)}`;
    const elo = match && match.elo !== null ? `, Elo ${number(match.elo, 0, true)}` : "";
    const score = match && `${match.wins} won, ${match.draws} drawn, ${match.losses} lost${elo}`;
    const learned = fit && `${plural(fit.games, "game")}, ${errors}`;
    const played = match && `match of ${plural(match.games, "game")}: ${score}`;
    return `${[name, learned, played].filter(Boolean).join("; ")}.`;
}

/** Show what became of new weights. */
export function drawResult(taught) {
    const { text, fit, changed: changes } = taught;
    const details = byId("taught-changes");
    byId("taught-shared").textContent = text ? sharedWords(taught) : "";
    details.hidden = !fit && !changes.length; // without both nothing is known of the changes
    details.firstElementChild.textContent = `What changed most (${plural(changes.length, "weight")})`;
    replace(details.lastElementChild, details.hidden ? null : changedTable(changes));
}

/** The ways to keep the weights that `read` gives, with their match; `pinOld` keeps the old ones apart from what is in use. */
export function makeResult(read, pinOld) {
    const actions = {
        "learn-use": ({ id }) => useWeights(id),
        "taught-in-use": (taught) => putInUse(taught, pinOld),
        "learn-save": ({ id }) => saveWeights(id, {}),
        "taught-link": (taught) => shareLink(taught, matchResult()),
        "taught-file": (taught) => shareFile(taught, matchResult()),
    };
    for (const [id, action] of Object.entries(actions)) byId(id).onclick = guarded(async () => action(read()));
}
