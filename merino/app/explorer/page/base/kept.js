// What the page keeps in the browser, by name: settings and games between visits, the board while its tab is open.

const PREFIX = "merino-";

/** @typedef {"localStorage" | "sessionStorage"} Store */

/** @type {Map<string, string>} */
const held = new Map(); // what the browser does not keep, as it keeps nothing or its storage is full: until the page goes

/** Whether a value is an object that has names. */
export const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/**
 * The text kept under a key; null for none.
 * @param {string} key
 * @param {Store} store
 */
export function recallText(key, store = "localStorage") {
    const text = held.get(`${store} ${key}`);
    if (text !== undefined) return text;
    try {
        return window[store].getItem(key);
    } catch {
        return null; // the browser lets the page keep nothing
    }
}

/**
 * @param {string} key
 * @param {string} text
 * @param {Store} store
 */
export function keepText(key, text, store = "localStorage") {
    try {
        window[store].setItem(key, text);
        held.delete(`${store} ${key}`);
    } catch {
        held.set(`${store} ${key}`, text);
    }
}

/**
 * What was kept under a name; `otherwise` if nothing was, or if `isValid` refuses it.
 * @param {string} name
 * @param {any} otherwise
 * @param {(value: any) => boolean} isValid
 * @param {Store} [store]
 */
export function recall(name, otherwise, isValid = (value) => typeof value === typeof otherwise, store) {
    const text = recallText(PREFIX + name, store);
    const value = text === null ? otherwise : JSON.parse(text);
    return isValid(value) ? value : otherwise;
}

/**
 * @param {string} name
 * @param {any} value
 * @param {Store} [store]
 */
export const keep = (name, value, store) => keepText(PREFIX + name, JSON.stringify(value), store);
