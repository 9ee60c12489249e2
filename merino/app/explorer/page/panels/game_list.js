// The games of a file as columns of their headers, so that a hundred thousand of them take little memory.

const TEXTS = ["result", "white", "black", "white_elo", "black_elo", "date", "event", "eco"];
const SEARCHED = ["white", "black", "event", "eco"];

export class GameList {
    #starts = [];
    #sizes = [];
    /** @type {Record<string, string[]>} */
    #texts = Object.fromEntries(TEXTS.map((name) => [name, []]));
    #known = new Map(); // each text once: players and events come again

    get length() {
        return this.#starts.length;
    }

    /** Append what the server tells of some games. */
    add(games) {
        for (const game of games) {
            this.#starts.push(game.start);
            this.#sizes.push(game.size);
            for (const name of TEXTS) this.#texts[name].push(this.#once(game[name]));
        }
    }

    #once(text) {
        const known = this.#known.get(text);
        if (known !== undefined) return known;
        this.#known.set(text, text);
        return text;
    }

    /** A game: its `number` from 1, its place in the file, and its headers. */
    at(index) {
        const game = { number: index + 1, start: this.#starts[index], size: this.#sizes[index] };
        for (const name of TEXTS) game[name] = this.#texts[name][index];
        return game;
    }

    /** The players with the most games, each with their number. */
    players(most) {
        const counts = new Map();
        for (const name of ["white", "black"])
            for (const player of this.#texts[name])
                if (player && player !== "?") counts.set(player, (counts.get(player) ?? 0) + 1);
        return [...counts].sort((a, b) => b[1] - a[1]).slice(0, most);
    }

    /**
     * The indices, from `first` on, of the games that match: each of the words in players, event or opening code, the
     * result, and dates `from` and `to` as far as they are given: 2024, 2024.05 or 2024.05.31.
     */
    matching({ words, result, from, to }, first = 0) {
        const found = [];
        for (let index = first; index < this.length; index++)
            if (this.#hasResult(index, result) && this.#isWithin(index, from, to) && this.#hasWords(index, words))
                found.push(index);
        return found;
    }

    #hasResult(index, result) {
        return !result || this.#texts.result[index] === result;
    }

    #isWithin(index, from, to) {
        if (!from && !to) return true;
        const date = this.#texts.date[index];
        return /^\d/.test(date) && (!from || date >= from) && (!to || date.slice(0, to.length) <= to);
    }

    #hasWords(index, words) {
        if (!words.length) return true;
        const text = SEARCHED.map((name) => this.#texts[name][index])
            .join(" ")
            .toLowerCase();
        return words.every((word) => text.includes(word));
    }
}

/** What to match, from what a person has typed. */
export const queryOf = ({ search, result, from, to }) => ({
    words: search.toLowerCase().split(/\s+/).filter(Boolean),
    result,
    from: dateOf(from),
    to: dateOf(to),
});

/** A date as PGN writes it, as far as it is given: "2024/5" is "2024.05". */
const dateOf = (text) =>
    text
        .trim()
        .replace(/[-/]/g, ".")
        .replace(/\.(\d)(?=\.|$)/g, ".0$1");
