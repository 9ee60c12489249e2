// Elements, tables, fields, numbers in words, and the focus of the keyboard. All text goes in as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "selected"]); // which are no attributes

const isThere = (value) => value !== undefined && value !== null && value !== false;
const isProperties = (value) => value !== null && typeof value === "object" && value.constructor === Object;

function set(element, name, value) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name === "text") element.textContent = value;
    else if (PROPERTIES.has(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
}

/** What `h` and `s` share: `given` is what to set on the element, which may be left out, and then its children. */
function fill(make, selector, given) {
    const [tag, ...marks] = selector.split(/(?=[.#])/);
    const element = make(tag);
    if (tag === "button") element.type = "button";
    for (const mark of marks)
        if (mark.startsWith("#")) element.id = mark.slice(1);
        else element.classList.add(mark.slice(1));
    const [properties, ...children] = isProperties(given[0]) ? given : [{}, ...given];
    for (const [name, value] of Object.entries(properties)) if (isThere(value)) set(element, name, value);
    element.append(...children.flat(Infinity).filter(isThere));
    return element;
}

/** An element, such as `h("p#answer.note", { title }, "Correct.")`. */
export const h = (selector, ...given) => fill((tag) => document.createElement(tag), selector, given);

/** An element of a drawing. */
export const s = (selector, ...given) => fill((tag) => document.createElementNS(SVG, tag), selector, given);

/**
 * The element with an id, which is an input, a dialog or whatever the page has under it.
 * @param {string} id
 * @returns {any}
 */
export const byId = (id) => document.getElementById(id);

/** A table in a box that scrolls, is reached by keys and has this label; `bodies` are its parts below the heads. */
export const tableBox = (label, selector, heads, ...bodies) =>
    h(
        "div.scroll",
        { tabindex: 0, role: "region", "aria-label": label },
        h(`table${selector}`, h("thead", h("tr", heads)), bodies),
    );

/** The head of a column. */
export const columnHead = (title, attributes = {}) => h("th", { scope: "col", ...attributes }, title);

/**
 * A table in such a box.
 * @param {string} id
 * @param {(string | {unseen: string})[]} heads the titles of its columns, which name the box; some are only heard
 * @param {Node[]} rows
 */
export function plainTable(id, heads, rows) {
    const words = heads.map((head) => (typeof head === "string" ? head : head.unseen));
    const titles = heads.map((head, at) => columnHead(typeof head === "string" ? head : h("span.hidden", words[at])));
    return tableBox(words.join(", "), `#${id}.plain-table`, titles, h("tbody", rows));
}

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
        cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : h("td", cell))),
    );

/** A row of controls above or below what they change. */
export const panelBar = (...controls) => h("div.panel-bar", controls);

export const note = (...text) => h("p.note", text);

/** A part that unfolds below its title. */
export const details = (selector, attributes, title, ...content) =>
    h(`details${selector}`, attributes, h("summary", title), content);

/** A button; `id` may name classes as well: "learn-start.main". */
export const button = (id, text, onclick, more = {}) => h(`button${id && `#${id}`}`, { onclick, ...more }, text);

/** The options of a select, as pairs of value and name. */
export const options = (pairs, chosen) =>
    pairs.map(([value, name]) => h("option", { value, selected: value === chosen }, name));

/** A choice among pairs of value and name, behind its label; `choose` gets the value as text. */
export const selectField = (id, label, pairs, chosen, choose, attributes = {}) =>
    h(
        "label",
        attributes,
        h("span", `${label} `),
        h(`select#${id}`, { onchange: (event) => choose(event.target.value) }, options(pairs, chosen)),
    );

/** A box to tick, with its name; `attributes` are those of the box, and `change` gets whether it is ticked. */
export const checkField = (attributes, name, checked, change) =>
    h(
        "label",
        h("input", { type: "checkbox", ...attributes, checked, onchange: (event) => change(event.target.checked) }),
        name,
    );

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Where an arrow, Home or End leads from a place in a ring of so many; undefined for another key. */
export function placeByKey(event, at, count) {
    const step = STEPS[event.key];
    const next = { Home: 0, End: count - 1 }[event.key] ?? (step && (at + step + count) % count);
    if (next === undefined) return undefined;
    event.preventDefault();
    event.stopPropagation();
    return next;
}

/** A row of choices of which one holds: buttons that act as radio buttons, moved through with the arrow keys. */
export function segments(container, choices, chosen, choose) {
    const buttons = choices.map(([value, label, title]) => {
        const isChosen = value === chosen;
        const own = { role: "radio", "data-value": value, title, onclick: () => choose(value) };
        return h("button", { ...own, "aria-checked": String(isChosen), tabindex: isChosen ? 0 : -1 }, label);
    });
    replace(container, buttons);
    container.onkeydown = (event) => {
        const at = choices.findIndex(([value]) => value === chosen);
        const next = placeByKey(event, at, choices.length);
        if (next === undefined) return;
        choose(choices[next][0]);
        container.children[next].focus();
    };
}

const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex]";

/** @param {Element} element */
const isControl = (element) => element.matches(CONTROLS) && !element.matches(":disabled, [tabindex='-1']");

/**
 * What a control is recognised by when it is drawn again.
 * @param {any} element
 */
const nameOf = ({ id, tagName, dataset, ariaLabel, textContent }) =>
    id || JSON.stringify([tagName, { ...dataset }, ariaLabel, tagName === "BUTTON" && textContent]);

/** The controls of a place that have a name, in their order. */
const namesakes = (place, name) => [...place.querySelectorAll(CONTROLS)].filter((each) => nameOf(each) === name);

/** The way from a place in to an element: of each step the position, and of controls what they are recognised by. */
function wayTo(place, element) {
    const steps = [];
    for (let each = element; each !== place; each = each.parentElement) {
        const name = isControl(each) || each === element ? nameOf(each) : null;
        const rank = name && namesakes(place, name).indexOf(each);
        steps.push({ name, rank, at: [...each.parentElement.children].indexOf(each) });
    }
    return steps;
}

function takesFocus(element) {
    if (!element?.checkVisibility() || element.matches(":disabled")) return false;
    element.focus({ preventScroll: true });
    return document.activeElement === element;
}

/** Focus the first control near the end of a way that may no longer exist, in or around its place. */
function focusNear(place, steps) {
    let near = place;
    for (const { at } of steps.toReversed()) near = near.children[at] ?? near;
    for (; near; near = near.parentElement)
        if ([near, ...near.querySelectorAll(CONTROLS)].some((each) => isControl(each) && takesFocus(each))) return;
}

/**
 * Change a part of the page. Where the focus in it is seen, as that of the keyboard is, it is on the same control after
 * that, on the box that scrolls around it, or on one near it.
 * @param {Element} place
 * @param {() => void} change
 */
export function keepFocus(place, change) {
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    const isKept = focused !== place && place.contains(focused) && focused?.matches(":focus-visible");
    const steps = isKept ? wayTo(place, focused) : [];
    change();
    const isStill = document.activeElement === focused && focused?.checkVisibility() && !focused.matches(":disabled");
    if (!isKept || isStill) return;
    const again = steps.map(({ name, rank }) => name && namesakes(place, name)[rank]);
    if (![focused, ...again].some(takesFocus)) focusNear(place, steps);
}

/** Hide a part of the page. */
export const hide = (place) => keepFocus(place, () => place.toggleAttribute("hidden", true));

/** Give a part of the page new content; the focus of the keyboard stays where it was. */
export function replace(element, ...children) {
    const drawn = children.flat(Infinity).filter(isThere);
    keepFocus(element, () => element.replaceChildren(...drawn));
}

const MINUS = "\u2212";

/** A text with real minus signs before its numbers. */
export const withMinus = (text) => text.replace(/(^|[\s(,#])-(?=[\d.#M])/g, `$1${MINUS}`);

/** A number with a real minus sign; `sign` also writes the plus. */
export function number(value, digits = 0, sign = false) {
    const text = Math.abs(value).toFixed(digits);
    if (Number(text) === 0) return text;
    return (value < 0 ? MINUS : sign ? "+" : "") + text;
}

/** Centipawns as pawns with a sign. */
export const pawns = (centipawns) => number(centipawns / 100, 2, true);

/** A whole number with commas. */
export const thousands = (value) => value.toLocaleString("en");

/** The name of an evaluation without the folders and the ending of its file. */
export const shortName = (name) => name.replace(/^.*[\\/]/, "").replace(/\.(txt|net|bin)$/, "");

export const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** A share as a percentage. */
export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}%`;

/** A number with the name of what is counted. */
export const plural = (count, name, names = `${name}s`) => `${thousands(count)} ${count === 1 ? name : names}`;

const PIECE_VALUES = { VAL_P: "Pawns", VAL_N: "Knights", VAL_B: "Bishops", VAL_R: "Rooks", VAL_Q: "Queens" };

/** Split a term's name where its words begin, so that it can be read and broken: "BishopPairMidgame". */
export const spaced = (name) =>
    /_[me]g$/.test(name)
        ? `${spaced(name.slice(0, -3))}, ${name.endsWith("_mg") ? "middlegame" : "endgame"}`
        : (PIECE_VALUES[name] ??
          name.replace(/([a-z])([A-Z0-9])/g, (_, end, start) => `${end} ${start.toLowerCase()}`));

const TERM = /\b(?:VAL_[PNBRQ]|[A-Z][a-z]+(?:[A-Z0-9][a-z0-9]*)+)(?:_[me]g)?\b/g;

/** A sentence of the server's with the names of terms as words. */
export const worded = (text) => text.replace(TERM, (name) => spaced(name).toLowerCase());

/** The colour of a value: blue for White, orange for Black, the stronger the nearer it is to `scale`; "" for hardly any. */
export function tint(value, scale) {
    const share = Math.min(1, Math.sqrt(Math.abs(value) / scale));
    if (share < 0.03) return "";
    return `color-mix(in oklab, var(--${value > 0 ? "blue" : "orange"}) ${Math.round(85 * share)}%, transparent)`;
}

/** What is no effect worth a number. */
export const nothing = () => h("span.faint", "\u00b7");

/** To sort by size, the largest first; `of` gives the number. */
export const bySize = (of) => (a, b) => Math.abs(of(b)) - Math.abs(of(a));

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
export const reportError = (error) => showError(wordsOf(error));

/** The same action; what goes wrong in it is shown. */
export const guarded =
    (action) =>
    (...given) =>
        action(...given).catch(reportError);

/**
 * The nearest element around what an event happened to.
 * @param {Event} event
 * @param {string} selector
 */
export const around = (event, selector) => /** @type {Element} */ (event.target).closest(selector);

/** A function that says whether what it gets is new: a click is lost on what is drawn again between press and release. */
export function changeDetector() {
    let before = "";
    return (...now) => {
        const last = before;
        before = JSON.stringify(now);
        return before !== last;
    };
}

/** A function that begins something and returns whether nothing has begun since: of several answers only the last counts. */
export function turns() {
    let last = 0;
    return () => {
        const mine = ++last;
        return () => mine === last;
    };
}

/** @type {any} */
let pressed = null; // what the mouse is down on
document.addEventListener("mousedown", ({ target }) => (pressed = target), true);
document.addEventListener("mouseup", () => (pressed = null), true);

/** Change a place now, or where something in it is pressed, after its click, which is lost on what is drawn again. */
export function afterPress(place, action) {
    if (place.contains(pressed)) document.addEventListener("mouseup", () => setTimeout(action), { once: true });
    else action();
}

/** Run at most once a frame. */
export function framed(action) {
    let isAsked = false;
    return () => {
        if (isAsked) return;
        isAsked = true;
        requestAnimationFrame(() => {
            isAsked = false;
            action();
        });
    };
}
