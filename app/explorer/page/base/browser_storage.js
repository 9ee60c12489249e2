// What the page keeps in the browser, by name: settings and games between visits, the board while its tab is open.

const PREFIX = "merino-";

/** Whether a value is an object that has names. */
export const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** What was kept under a name; `otherwise` if nothing was, or if `isValid` refuses it. */
export function recall(name, otherwise, isValid = (value) => typeof value === typeof otherwise, store = localStorage) {
    const text = store.getItem(PREFIX + name);
    if (text === null) return otherwise;
    const value = JSON.parse(text);
    return isValid(value) ? value : otherwise;
}

export const keep = (name, value, store = localStorage) => store.setItem(PREFIX + name, JSON.stringify(value));
