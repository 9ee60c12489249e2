// What the page keeps in the browser, by name: settings and games between visits, the board while its tab is open.

const PREFIX = "merino-";

/**
 * What was kept under a name; `otherwise` if nothing was, or if `isValid` refuses it, by default another type.
 * @template T
 * @param {string} name
 * @param {T} otherwise
 * @param {((value: any) => boolean) | null} [isValid]
 * @returns {T}
 */
export function recall(name, otherwise, isValid = null, store = localStorage) {
    const text = store.getItem(PREFIX + name);
    if (text === null) return otherwise;
    const value = JSON.parse(text);
    const holds = isValid ? isValid(value) : typeof value === typeof otherwise;
    return holds ? value : otherwise;
}

/**
 * @param {string} name
 * @param {any} value as JSON knows it
 */
export const keep = (name, value, store = localStorage) => store.setItem(PREFIX + name, JSON.stringify(value));
