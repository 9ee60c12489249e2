// Numbers, and the names of terms and evaluations, in words.

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

const TERM = /\b(?![KQRBN][a-h1-8]?x?[a-h][1-8])(?:VAL_[PNBRQ]|[A-Z][a-z]+(?:[A-Z0-9][a-z0-9]*)+)(?:_[me]g)?\b/g;

/** A sentence of the server's with the names of terms as words. */
export const worded = (text) => text.replace(TERM, (name) => spaced(name).toLowerCase());

/** The colour of a value: blue for White, orange for Black, the stronger the nearer it is to `scale`; "" for hardly any. */
export function tint(value, scale) {
    const share = Math.min(1, Math.sqrt(Math.abs(value) / scale));
    if (share < 0.03) return "";
    return `color-mix(in oklab, var(--${value > 0 ? "blue" : "orange"}) ${Math.round(85 * share)}%, transparent)`;
}

/** To sort by size, the largest first; `of` gives the number. */
export const bySize = (of) => (a, b) => Math.abs(of(b)) - Math.abs(of(a));
