// The list of the games of a file, and the form to search it with. Only the rows in view are elements.

import { Drawn, framed, h, options, replace } from "../base/dom.js";

const ROW = matchMedia("(pointer: coarse)").matches ? 40 : 30; // pixels
const MAX_HEIGHT = 8e6; // pixels that every browser can scroll; longer lists scroll faster
const AROUND = 4; // rows drawn beyond the view
const RESULTS = ["1-0", "0-1", "1/2-1/2", "*"];

const isKnown = (value) => value && !/^\?/.test(value);
const player = (name, elo) => (isKnown(elo) ? `${name || "?"} (${elo})` : name || "?");
const shortResult = (result) => (result === "1/2-1/2" ? "\u00bd-\u00bd" : result);

/** The form to search with; `change` is called with each new search. */
export function makeSearch(change) {
    const field = (id, hint, label, more) =>
        h("input", { id, placeholder: hint, "aria-label": label, spellcheck: "false", ...more });
    const date = { size: 8, inputmode: "numeric", maxlength: 10 };
    const fields = {
        search: field("game-search", "Player, event or ECO", "Search players, events and opening codes", {
            type: "search",
        }),
        result: h(
            "select",
            { id: "game-result", "aria-label": "Result" },
            options([["", "any result"], ...RESULTS.map((each) => [each, shortResult(each)])], ""),
        ),
        from: field("game-from", "from 2020", "Played from, such as 2024 or 2024.05.31", date),
        to: field("game-to", "to 2024", "Played until, such as 2024 or 2024.05.31", date),
    };
    const typed = () => Object.fromEntries(Object.entries(fields).map(([name, { value }]) => [name, value]));
    const form = h("form", { class: "game-search", role: "search", autocomplete: "off" }, Object.values(fields));
    form.addEventListener("input", () => change(typed()));
    form.addEventListener("submit", (event) => event.preventDefault());
    return form;
}

/**
 * The list itself. `read` gives what is seen: `indices` of the games that match, `game(index)` and the one `chosen`;
 * `choose(index)` opens one.
 */
export class GameTable {
    #read;
    #choose;
    #rows = h("div", { class: "game-rows" });
    #height = h("div", { class: "game-height" }, this.#rows);
    #active = 0; // the place in the list that the keys have come to
    #drawn = new Drawn(); // the rows that are shown, and what sets some of them apart

    /** Follow what has changed, at most once a frame. */
    redraw = framed(() => this.#draw());

    constructor({ read, choose }) {
        this.#read = read;
        this.#choose = choose;
        this.box = h("div", { id: "game-list", class: "game-list", role: "listbox", tabindex: 0 }, this.#height);
        this.box.setAttribute("aria-label", "Games");
        this.box.addEventListener("scroll", this.redraw);
        this.box.addEventListener("keydown", (event) => this.#press(event));
        new ResizeObserver(this.redraw).observe(this.box);
    }

    /** Forget the rows shown: they are of another list. */
    reset() {
        this.#drawn.forget();
    }

    /** Go to a place in the list, and scroll it into view. */
    goTo(place) {
        const { box } = this,
            scale = this.#scale();
        this.#active = Math.max(0, Math.min(place, this.#read().indices.length - 1));
        const top = this.#active * ROW,
            bottom = top + ROW - box.clientHeight;
        if (top < box.scrollTop * scale) box.scrollTop = top / scale;
        else if (bottom > box.scrollTop * scale) box.scrollTop = bottom / scale;
        this.redraw();
    }

    /** Pixels of the list to one that is scrolled. */
    #scale() {
        const whole = this.#read().indices.length * ROW,
            room = this.box.clientHeight;
        return whole > MAX_HEIGHT ? (whole - room) / (MAX_HEIGHT - room) : 1;
    }

    #draw() {
        const { box } = this,
            { indices, chosen, game } = this.#read();
        this.#height.style.height = `${Math.min(indices.length * ROW, MAX_HEIGHT)}px`;
        const top = box.scrollTop * this.#scale();
        const first = Math.max(0, Math.floor(top / ROW) - AROUND);
        const last = Math.ceil((top + box.clientHeight) / ROW) + AROUND;
        this.#rows.style.transform = `translateY(${box.scrollTop - top + first * ROW}px)`;
        const seen = indices.slice(first, last);
        if (this.#drawn.isNew(seen, first, chosen, this.#active))
            replace(
                this.#rows,
                seen.map((index, at) => this.#row(game(index), first + at, index === chosen)),
            );
        for (const row of this.#rows.children) row.setAttribute("aria-setsize", String(indices.length));
        const isActiveSeen = first <= this.#active && this.#active < first + seen.length;
        if (isActiveSeen) box.setAttribute("aria-activedescendant", `game-at-${this.#active}`);
        else box.removeAttribute("aria-activedescendant");
    }

    #row(game, place, isChosen) {
        const attributes = {
            id: `game-at-${place}`,
            class: place === this.#active ? "game-row active" : "game-row",
            role: "option",
            style: { height: `${ROW}px` },
            "aria-selected": String(isChosen),
            "aria-posinset": place + 1,
            onclick: () => this.#open(place),
        };
        return h("div", attributes, cells(game));
    }

    #open(place) {
        this.#active = place;
        const index = this.#read().indices[place];
        if (index !== undefined) this.#choose(index);
        this.redraw();
    }

    #press(event) {
        const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1),
            end = this.#read().indices.length;
        const steps = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -end, End: end };
        const opens = event.key === "Enter" || event.key === " ";
        if (!opens && !(event.key in steps)) return;
        event.preventDefault();
        event.stopPropagation();
        if (opens) this.#open(this.#active);
        else this.goTo(this.#active + steps[event.key]);
    }
}

function cells(game) {
    const cell = (kind, text) => h("span", { class: kind, title: text }, text);
    return [
        cell("game-number", game.number.toLocaleString("en")),
        cell("game-player", player(game.white, game.white_elo)),
        cell("game-result", shortResult(game.result)),
        cell("game-player", player(game.black, game.black_elo)),
        cell("game-date", isKnown(game.date) ? game.date.replace(/(\.\?\?)+$/, "") : ""),
        cell("game-event", [game.eco, isKnown(game.event) ? game.event : ""].filter(isKnown).join(" ")),
    ];
}
