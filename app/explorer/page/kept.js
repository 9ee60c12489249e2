// What the page keeps between visits: settings and the game, in the browser, by name.

const PREFIX = "merino-";

/** What was kept under a name; `otherwise` if nothing was, or if `isValid` refuses it. */
export function recall(name, otherwise, isValid = (value) => typeof value === typeof otherwise) {
    const text = localStorage.getItem(PREFIX + name);
    if (text === null) return otherwise;
    const value = JSON.parse(text);
    return isValid(value) ? value : otherwise;
}

export const keep = (name, value) => localStorage.setItem(PREFIX + name, JSON.stringify(value));
