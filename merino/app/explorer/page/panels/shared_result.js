// A result that can be given away: weights, how they were learned and proved, and what changed; as a file or a link.

const FORMAT = "merino taught 1";

/**
 * @typedef {object} Taught
 * @property {string} name where the weights come from
 * @property {string} text the weights file
 * @property {{games: number, before: number, after: number, accepted: boolean} | null} fit errors on games kept apart
 * @property {{games: number, wins: number, draws: number, losses: number, elo: number | null,
 *     elo_error: number | null, verdict: string} | null} match of the new against the old
 * @property {{name: string, old: number, new: number, clear: boolean | null}[]} changed the largest changes first
 */

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const orNull = (value, fits) => value === null || fits(value);
const hasNumbers = (value, names) => typeof value === "object" && names.every((name) => isNumber(value[name]));
const isFit = (value) => hasNumbers(value, ["games", "before", "after"]) && typeof value.accepted === "boolean";
const isChange = (value) => typeof value?.name === "string" && hasNumbers(value, ["old", "new"]);
const isMatch = (value) =>
    hasNumbers(value, ["games", "wins", "draws", "losses"]) &&
    orNull(value.elo, isNumber) &&
    orNull(value.elo_error, isNumber) &&
    typeof value.verdict === "string";

/** @param {Taught} taught */
export const asFile = (taught) => JSON.stringify({ format: FORMAT, ...taught }, null, 1);

/** What a file holds; raises an error where it is no such result.
 * @returns {Taught}
 */
export function ofFileText(text) {
    /** @type {any} */
    let data = null;
    try {
        data = JSON.parse(text);
    } catch {
        // told below, as for all that is no such file
    }
    const isTaught =
        data?.format === FORMAT &&
        typeof data.name === "string" &&
        typeof data.text === "string" &&
        orNull(data.fit, isFit) &&
        orNull(data.match, isMatch) &&
        Array.isArray(data.changed) &&
        data.changed.every(isChange);
    if (!isTaught) throw new Error("this is no result that Merino's explorer has shared");
    return data;
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

/** What the part of an address behind `taught=` holds; raises an error where it holds no result. */
export async function ofLink(letters) {
    let text = "";
    try {
        const packed = atob(letters.replaceAll("-", "+").replaceAll("_", "/"));
        const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
        text = new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
    } catch {
        throw new Error("the link is not whole: copy all of it");
    }
    return ofFileText(text);
}
