// Players whose profiles were made, whom Merino can play like: their styles are kept between visits.

import { isRecord, keep, recall } from "./browser_storage.js";

const MAX_STYLES = 30;

const styles = () => recall("styles", {}, isRecord);

/** The names of the players, the last one first. */
export const styledPlayers = () => Object.keys(styles()).reverse();

/** The style of a player as the server takes it; null for nobody. */
export function styleOf(player) {
    const coefficients = player && styles()[player];
    return coefficients ? { player, coefficients } : null;
}

/** Keep the style of a profile. */
export function keepStyle({ player, coefficients }) {
    const { [player]: _, ...others } = styles();
    keep("styles", Object.fromEntries([...Object.entries(others), [player, coefficients]].slice(-MAX_STYLES)));
}
