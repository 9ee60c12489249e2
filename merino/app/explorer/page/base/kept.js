// What the page keeps in the browser, by name: settings and games between visits, the board while its tab is open; among
// the settings how board and pieces look, and a sound for a move and for the end of a game.

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

/** The boards and pieces there are, each with its title. */
export const LOOKS = {
    board: { stone: "Stone", wood: "Wood", green: "Green", sea: "Sea", paper: "Paper" },
    pieces: { classic: "Classic", plain: "Plain", letters: "Letters" },
};
const KEYS = { board: "board-colours", pieces: "pieces" }; // under which the choices are kept
const chosenLook = (kind) => recall(KEYS[kind], Object.keys(LOOKS[kind])[0], (name) => name in LOOKS[kind]);

export const look = { board: chosenLook("board"), pieces: chosenLook("pieces") };

/** Where the drawing of a piece is. */
export const pieceAddress = (letter) => {
    const folder = look.pieces === "classic" ? "/pieces/" : `/pieces/${look.pieces}/`;
    return `${folder}${letter === letter.toUpperCase() ? "w" : "b"}${letter.toUpperCase()}.svg`;
};

export function chooseLook(kind, name) {
    look[kind] = name;
    keep(KEYS[kind], name);
    document.documentElement.dataset.board = look.board;
}

document.documentElement.dataset.board = look.board;

const PITCH = { move: [520], end: [520, 390] }; // hertz
const SECONDS = 0.09;
/** @type {any} */
let context = null;

export const hasSound = () => recall("sound", false);

export function chime(what) {
    if (!hasSound()) return;
    context ??= new AudioContext();
    PITCH[what].forEach((pitch, index) => {
        const tone = context.createOscillator(),
            volume = context.createGain(),
            begin = context.currentTime + 1.5 * SECONDS * index;
        tone.frequency.value = pitch;
        volume.gain.setValueAtTime(0.15, begin);
        volume.gain.exponentialRampToValueAtTime(0.001, begin + SECONDS);
        tone.connect(volume).connect(context.destination);
        tone.start(begin);
        tone.stop(begin + SECONDS);
    });
}
