// A run of `merino night`: begun and stopped here, and its report.

import { get, post } from "../base/api.js";
import {
    button,
    byId,
    guarded,
    h,
    openFile,
    panelBar,
    plural,
    selectField,
    shortName,
    showError,
} from "../base/dom.js";
import { nightReport, redrawNight } from "./night_report.js";

const HOURS = [1, 2, 4, 8, 12];
const LOOK_MS = 2000; // while one is at work

/** @type {any} */
let night = null;
let isOpened = false; // from a file, and not the one in the usual folder
/** @type {any} */
let run = null; // what the server says of the one that it carries out
let place = ""; // the usual folder
let hours = 8;
let isAsked = false;
let asked = 0; // how often the server was: only the last answer tells of its run
let timer = 0;
let isOpen = false;
let draw = () => {};

const askUsual = guarded(async () => {
    isAsked = true;
    const number = ++asked;
    const found = await get("/api/night");
    night ??= found.night;
    if (number === asked) take(found);
    draw();
});

/** Take what the server says of its run, and look again while it is at work. */
function take(found) {
    ({ run, place = place } = found);
    clearTimeout(timer);
    if (run?.running) timer = setTimeout(lookAgain, LOOK_MS);
    else if (run?.error) showError(run.error);
}

const lookAgain = guarded(async () => {
    const number = ++asked,
        isNew = (other) => other?.place !== night?.place || other?.generations.length !== night?.generations.length;
    const found = await get("/api/night");
    if (number !== asked) return;
    take(found);
    if (run?.running && (isOpened || !isNew(found.night))) {
        const words = byId("night-doing");
        if (words) words.textContent = run.doing;
        return;
    }
    if (!isOpened) night = found.night;
    draw();
});

const ask = guarded(async (what, message = {}) => {
    const number = ++asked;
    const found = await post(`/api/night/${what}`, message);
    if (number === asked) take(found);
    draw();
});

/** Start a run, and follow it from now on. */
function start() {
    isOpened = false;
    return ask("start", { hours });
}

const START =
    "Plays games with the best net, trains the next one, and keeps it if it wins a match, on all cores but one. " +
    "It goes on when this tab is closed, ends with the explorer, and later continues where it stopped. " +
    "Nothing is put in use by itself.";

function runBar() {
    const choices = HOURS.map((count) => [count, plural(count, "hour")]);
    if (run?.running)
        return [
            panelBar(
                button("night-stop", "Stop", () => ask("stop"), { class: "on" }),
                h("span", { class: "note" }, `A night of ${run.hours} h, in ${place}`),
            ),
            h("p", { class: "note", id: "night-doing" }, run.doing),
        ];
    return [
        panelBar(
            button("night-start", "Start a night", start),
            selectField("night-hours", "of", choices, hours, (value) => {
                hours = Number(value);
            }),
        ),
        h("p", { class: "note" }, START),
    ];
}

const openState = guarded(async () => {
    const { name, text } = await openFile(".json,application/json");
    night = (await post("/api/night", { name, text })).night;
    isOpened = true;
    draw();
});

function content() {
    const bar = panelBar(
        button("night-open", "Open a night.json", openState),
        button("night-again", "Look again", askAgain),
        h(
            "span",
            { class: "note" },
            night ? `From ${shortName(night.start)}, in ${night.place}` : "No run in the usual folder.",
        ),
    );
    if (!night) return [runBar(), bar];
    if (!night.generations.length)
        return [runBar(), bar, h("p", { id: "night-summary" }, "No generation is finished yet.")];
    return [runBar(), bar, nightReport(night, draw)];
}

function askAgain() {
    night = null;
    isOpened = false;
    askUsual();
}

/** The report, to be unfolded; `redraw` draws the panel that it is in. */
export function nightSection(redraw) {
    draw = redraw;
    const box = h(
        "details",
        { id: "night", open: isOpen },
        h("summary", {}, "A night: nets that grow stronger"),
        content(),
    );
    box.addEventListener("toggle", () => {
        isOpen = box.open;
        if (isOpen && !isAsked) askUsual();
        redrawNight();
    });
    return box;
}
