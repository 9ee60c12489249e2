// Elements, numbers and small helpers. All text goes in as text, never as HTML.

import { keepFocus } from "./focus.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
    for (const [name, value] of Object.entries(properties ?? {})) {
        if (value === undefined || value === null || value === false) continue;
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (name === "style") Object.assign(element.style, value);
        else if (name === "text") element.textContent = value;
        else if (name === "value" || name === "checked" || name === "disabled" || name === "selected")
            element[name] = value;
        else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(
        ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
    );
    return element;
}

export function h(tag, properties, ...children) {
    return fill(document.createElement(tag), properties, children);
}

export function s(tag, properties, ...children) {
    return fill(document.createElementNS(SVG, tag), properties, children);
}

/** What makes a box that scrolls reachable by keys, and gives it a name. */
export const scrolling = (label, kind = "scroll") => ({
    class: kind,
    tabindex: 0,
    role: "region",
    "aria-label": label,
});

/**
 * The element with an id, which is an input, a dialog or whatever the page has under it.
 * @param {string} id
 * @returns {any}
 */
export const byId = (id) => document.getElementById(id);

const headText = (head) => (typeof head === "string" ? head : h("span", { class: "hidden" }, head.unseen));

/** A table in a box that scrolls, which has this label; `bodies` are its parts below the heads. */
export const tableBox = (label, attributes, heads, ...bodies) =>
    h("div", scrolling(label), h("table", attributes, h("thead", {}, h("tr", {}, heads)), bodies));

/** The head of a column. */
export const columnHead = (title, attributes = {}) => h("th", { scope: "col", ...attributes }, title);

/**
 * A table in such a box.
 * @param {string} id
 * @param {(string | {unseen: string})[]} heads the titles of its columns, which name the box; some are only heard
 * @param {Node[]} rows
 */
export const plainTable = (id, heads, rows) =>
    tableBox(
        heads.map((head) => (typeof head === "string" ? head : head.unseen)).join(", "),
        { class: "plain-table", id },
        heads.map((head) => columnHead(headText(head))),
        h("tbody", {}, rows),
    );

/**
 * A row of a table.
 * @param {any} head of the row
 * @param {any[]} cells what they hold, or cells of their own
 * @param {object} more attributes of the row
 */
export const tableRow = (head, cells, more = {}) =>
    h(
        "tr",
        more,
        h("th", { scope: "row" }, head),
        cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : h("td", {}, cell))),
    );

/** A row of controls above or below what they change. */
export const panelBar = (...controls) => h("div", { class: "panel-bar" }, controls);

export const button = (id, text, onclick, more = {}) => h("button", { type: "button", id, onclick, ...more }, text);

/** The options of a select, as pairs of value and name. */
export const options = (pairs, chosen) =>
    pairs.map(([value, name]) => h("option", { value, selected: value === chosen }, name));

/** A choice among pairs of value and name, behind its label; `choose` gets the value as text. */
export const selectField = (id, label, pairs, chosen, choose, attributes = {}) =>
    h(
        "label",
        attributes,
        `${label} `,
        h("select", { id, onchange: (event) => choose(event.target.value) }, options(pairs, chosen)),
    );

/** A box to tick, with its name; `attributes` are those of the box, and `change` gets whether it is ticked. */
export const checkField = (attributes, name, checked, change) =>
    h(
        "label",
        {},
        h("input", { type: "checkbox", ...attributes, checked, onchange: (event) => change(event.target.checked) }),
        name,
    );

/** Draw a part of the page anew; the focus of the keyboard stays where it was. */
export function replace(element, ...children) {
    const drawn = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
    keepFocus(element, () => element.replaceChildren(...drawn));
}

const MINUS = "\u2212";

/** A text with real minus signs before its numbers. */
export const withMinus = (text) => text.replace(/(^|[\s(,#])-(?=[\d.#M])/g, `$1${MINUS}`);

/** A number with a real minus sign; `sign` also writes the plus. */
export function number(value, digits = 0, sign = false) {
    const text = Math.abs(value).toFixed(digits);
    if (Number(text) === 0) return text;
    if (value < 0) return MINUS + text;
    return (sign ? "+" : "") + text;
}

/** Centipawns as pawns with a sign. */
export const pawns = (centipawns) => number(centipawns / 100, 2, true);

/** The name of an evaluation without the folders and the ending of its file. */
export const shortName = (name) => name.replace(/^.*[\\/]/, "").replace(/\.(txt|net|bin)$/, "");

export const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** A share as a percentage. */
export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}%`;

/** A number with the name of what is counted. */
export const plural = (count, name, names = `${name}s`) =>
    `${count.toLocaleString("en")} ${count === 1 ? name : names}`;

/** Split a term's name where its words begin, so that it can be read and broken: "BishopPairMidgame". */
export const spaced = (name) =>
    /_[me]g$/.test(name)
        ? `${spaced(name.slice(0, -3))}, ${name.endsWith("_mg") ? "middlegame" : "endgame"}`
        : (PIECE_VALUES[name] ??
          name.replace(/([a-z])([A-Z0-9])/g, (_, end, start) => `${end} ${start.toLowerCase()}`));

const PIECE_VALUES = { VAL_P: "Pawns", VAL_N: "Knights", VAL_B: "Bishops", VAL_R: "Rooks", VAL_Q: "Queens" };

/** A sentence of the server's with the names of terms as words. */
export const worded = (text) =>
    text.replace(/\b(?:VAL_[PNBRQ]|[A-Z][a-z]+(?:[A-Z0-9][a-z0-9]*)+)(?:_[me]g)?\b/g, (name) =>
        spaced(name).toLowerCase(),
    );

/** The colour of a value: blue for White, orange for Black, the stronger the nearer it is to `scale`; "" for hardly any. */
export function tint(value, scale) {
    const share = Math.min(1, Math.sqrt(Math.abs(value) / scale));
    if (share < 0.03) return "";
    return `color-mix(in oklab, var(--${value > 0 ? "blue" : "orange"}) ${Math.round(85 * share)}%, transparent)`;
}

let spoken;

/** Say something to those who listen rather than look. */
export function say(text) {
    clearTimeout(spoken);
    spoken = setTimeout(() => {
        byId("live").textContent = text;
    }, 30);
}

export function showError(text) {
    const box = byId("error");
    box.hidden = !text;
    box.firstElementChild.textContent = text ?? "";
}

/**
 * What has gone wrong, in words.
 * @param {unknown} error
 */
export const wordsOf = (error) => (error instanceof Error ? error.message : String(error));

/**
 * Show what has gone wrong.
 * @param {unknown} error
 */
export const tellError = (error) => showError(wordsOf(error));

/** The same action; what goes wrong in it is shown. */
export const guarded =
    (action) =>
    (...given) =>
        action(...given).catch(tellError);

/**
 * The nearest element around what an event happened to.
 * @param {Event} event
 * @param {string} selector
 */
export const around = (event, selector) => /** @type {Element} */ (event.target).closest(selector);

/** What a place says. Where that is nothing new the place stays as it is: a click is lost on what is drawn anew. */
export class Drawn {
    #said = "";

    /** Whether the place has to be drawn to say this; the last that was asked about counts as drawn. */
    isNew(...said) {
        const before = this.#said;
        this.#said = JSON.stringify(said);
        return this.#said !== before;
    }

    /** Let it be drawn anew, whatever it says. */
    forget() {
        this.#said = "";
    }
}

/** @type {any} */
let pressed = null; // what the mouse is down on
document.addEventListener("mousedown", ({ target }) => (pressed = target), true);
document.addEventListener("mouseup", () => (pressed = null), true);

/** Change a place now, or where something in it is pressed, after its click, which is lost on what is drawn anew. */
export function afterPress(place, action) {
    if (place.contains(pressed)) document.addEventListener("mouseup", () => setTimeout(action), { once: true });
    else action();
}

/** Run at most once a frame. */
export function framed(action) {
    let asked = 0;
    return () => {
        if (asked) return;
        asked = requestAnimationFrame(() => {
            asked = 0;
            action();
        });
    };
}

/** A file for the user, who is asked where it goes where the browser can ask. */
export async function saveFile(name, content, kind) {
    const blob = content instanceof Blob ? content : new Blob([content], { type: kind });
    const ask = /** @type {any} */ (window).showSaveFilePicker; // which not all browsers have
    if (ask && !navigator.webdriver) {
        try {
            const handle = await ask({ suggestedName: name });
            const stream = await handle.createWritable();
            await stream.write(blob);
            await stream.close();
        } catch (error) {
            if (!(error instanceof Error && error.name === "AbortError")) throw error;
        }
        return;
    }
    const link = h("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** The bytes of a file, or of a part of it, in base64, as the server takes them. */
export async function base64(file) {
    return btoa(characters(new Uint8Array(await file.arrayBuffer())));
}

/** The text of games: UTF-8, and as the server reads it, Latin-1 where a line is no UTF-8. */
export async function gamesText(file) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const utf8 = new TextDecoder("utf-8", { fatal: true });
    const read = (line) => lineText(line, utf8);
    try {
        return utf8.decode(bytes);
    } catch {
        return linesOf(bytes).map(read).join("");
    }
}

/** The lines of a text, each with its end. */
function linesOf(bytes) {
    const lines = [];
    for (let start = 0; start < bytes.length; ) {
        const end = bytes.indexOf(10, start) + 1 || bytes.length;
        lines.push(bytes.subarray(start, end));
        start = end;
    }
    return lines;
}

function lineText(line, utf8) {
    try {
        return utf8.decode(line);
    } catch {
        return characters(line);
    }
}

/** Each byte as the character of that number, as in Latin-1; the decoder of that name in browsers has others. */
function characters(bytes) {
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return text;
}

/** Ask the user for a file, of which nothing is read yet. */
export function chooseFile(accept) {
    return new Promise((resolve) => {
        const input = h("input", { type: "file", accept });
        input.addEventListener("change", () => {
            if (input.files[0]) resolve(input.files[0]);
        });
        input.click();
    });
}

/** Ask the user for a file; its name and text, or with `whole` its `content` in base64. */
export async function openFile(accept, whole = false) {
    const file = await chooseFile(accept);
    return whole ? { name: file.name, content: await base64(file) } : { name: file.name, text: await file.text() };
}

/** A row of choices of which one holds: buttons that act as radio buttons, moved through with the arrow keys. */
export function segments(container, choices, chosen, choose) {
    const buttons = choices.map(([value, label, title]) =>
        h(
            "button",
            {
                type: "button",
                role: "radio",
                "data-value": value,
                title,
                "aria-checked": String(value === chosen),
                tabindex: value === chosen ? "0" : "-1",
                onclick: () => choose(value),
            },
            label,
        ),
    );
    replace(container, buttons);
    container.onkeydown = (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        const at = choices.findIndex(([value]) => value === chosen);
        const next = choices[(at + step + choices.length) % choices.length][0];
        choose(next);
        container.querySelector(`[data-value="${next}"]`)?.focus();
    };
}
