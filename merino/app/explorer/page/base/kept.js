// What the page keeps in the browser between visits, by name: settings and games.

const PREFIX = "merino-";

/** @type {Map<string, string>} */
const held = new Map(); // what the browser does not keep, as it keeps nothing or its storage is full: until the page goes

/** @param {string} name */
function textOf(name) {
    try {
        return held.get(name) ?? localStorage.getItem(PREFIX + name);
    } catch {
        return null; // the browser lets the page keep nothing
    }
}

/**
 * What was kept under a name; `otherwise` if nothing was, or if `isValid` refuses it.
 * @param {string} name
 * @param {any} otherwise
 * @param {(value: any) => boolean} isValid
 */
export function recall(name, otherwise, isValid = (value) => typeof value === typeof otherwise) {
    const text = textOf(name);
    const value = text === null ? otherwise : JSON.parse(text);
    return isValid(value) ? value : otherwise;
}

/**
 * @param {string} name
 * @param {any} value
 */
export function keep(name, value) {
    const text = JSON.stringify(value);
    try {
        localStorage.setItem(PREFIX + name, text);
        held.delete(name);
    } catch {
        held.set(name, text);
    }
}
