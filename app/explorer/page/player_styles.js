// Players whose profiles were made, whom Merino can play like: their styles are kept between visits.

import { keep, recall } from "./browser_storage.js";

const MAX_STYLES = 30;

/** @typedef {Record<string, Record<string, number>>} Styles of players by name: the coefficients of each */

const isRecord = (/** @type {any} */ value) => value !== null && typeof value === "object" && !Array.isArray(value);
const styles = () => recall("styles", /** @type {Styles} */ ({}), isRecord);

/** The names of the players, the last one first. */
export const styledPlayers = () => Object.keys(styles()).reverse();

/**
 * The style of a player as the server takes it; null for nobody.
 * @param {string} player
 */
export function styleOf(player) {
    const coefficients = player && styles()[player];
    return coefficients ? { player, coefficients } : null;
}

/**
 * Keep the style of a profile.
 * @param {{ player: string, coefficients: Record<string, number> }} profile
 */
export function keepStyle({ player, coefficients }) {
    const { [player]: _, ...others } = styles();
    keep("styles", Object.fromEntries([...Object.entries(others), [player, coefficients]].slice(-MAX_STYLES)));
}
