// Always-on analysis: what is on the board is searched, by one evaluation or by two, while somebody looks.

import { isLooked, onLook } from "../base/attention.js";
import { keep, recall } from "../base/browser_storage.js";
import { onCompiling } from "../base/compiling.js";
import { Search } from "../base/searching.js";
import { SHOWN, askedOf, changed, isUnaided, listen, question, state } from "./store.js";

export const NONE = "";
export const MAX_LINES = 5;

const isCount = (value) => Number.isInteger(value) && value >= 1 && value <= MAX_LINES;

/** What the user has chosen, kept between visits. `by` and `beside` are ids of evaluations. */
export const settings = {
    isOn: recall("analysis", true),
    lines: recall("analysis-lines", 3, isCount),
    by: recall("analysis-by", SHOWN),
    beside: recall("analysis-beside", NONE),
    arrows: recall("analysis-arrows", true),
};

const NAMES = {
    isOn: "analysis",
    lines: "analysis-lines",
    by: "analysis-by",
    beside: "analysis-beside",
    arrows: "analysis-arrows",
};

/** What the server is asked for a setting that names an evaluation; null for none, and while nobody is to be helped. */
function askedBy(choice) {
    const by = settings[choice];
    if (by === NONE || isUnaided() || !state.report || state.report.fault) return null;
    return askedOf(by, { ...question(), beside: null, lines: settings.lines });
}

const tell = () => changed("lines");
export const searches = ["by", "beside"].map((choice) => ({ choice, search: new Search(() => askedBy(choice), tell) }));

/** The best line of the search, undefined while there is none. */
export const best = () => searches[0].search.lines[0];

/** Why nothing is searched, in words; null if it is. */
export function idleReason() {
    if (!settings.isOn) return "off";
    if (isUnaided()) return state.exercise ? "off during an exercise" : "off while you play";
    if (state.report?.fault) return "no legal position";
    if (!isLooked()) return "resting until somebody looks";
    return null;
}

function follow() {
    for (const { search } of searches)
        if (idleReason() === null) search.follow();
        else search.stop();
}

/** Choose a setting, and search by it. */
export function choose(name, value) {
    settings[name] = value;
    keep(NAMES[name], value);
    follow();
    changed("lines");
}

export const switchAnalysis = () => choose("isOn", !settings.isOn);

export function makeAnalysis() {
    onLook(follow);
    onCompiling(tell);
    listen((topics) => {
        if (topics.has("report") || topics.has("weights") || topics.has("play")) follow();
        else if (topics.has("moves") && state.mode === "game") follow();
    });
}
