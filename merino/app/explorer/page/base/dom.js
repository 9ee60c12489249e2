// Elements, tables, fields, and the focus of the keyboard. All text goes in as text, never as HTML.

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

/** What is no effect worth a number. */
export const nothing = () => h("span.faint", "\u00b7");
