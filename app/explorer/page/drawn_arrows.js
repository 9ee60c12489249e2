// The arrows on the board, by who has drawn them: the analysis, or a threat.

import { changed } from "./store.js";

const bySource = new Map();

/** Show these arrows of a source instead of those before: { uci, kind, share }, where `share` is how strong, 0 to 1. */
export function showArrows(source, arrows) {
    if (JSON.stringify(bySource.get(source) ?? []) === JSON.stringify(arrows)) return;
    bySource.set(source, arrows);
    changed("arrows");
}

export const drawnArrows = () => [...bySource.values()].flat();
