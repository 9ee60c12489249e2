// A search that is followed as it goes deeper: one of what is asked now, until it is stopped.

import { wait } from "./compiling.js";
import { Work } from "./work.js";

export class Search {
    /** `ask` gives what the server is asked, or null for no search; `tell` is called when lines or state change. */
    constructor(ask, tell) {
        this.ask = ask;
        this.tell = tell;
        this.lines = []; // the messages of the server, the best first
        this.asked = null; // what is searched, or was: lines are of this
        this.key = null; // the same as text
        /** @type {any[]} */
        this.coming = []; // lines of a depth of which not all are known
        this.heard = () => {}; // called with the first line, or where there will be none
        this.work = new Work("/ws/search", {
            told: (line) => {
                this.heard();
                this.#take(line);
                this.tell();
            },
            ended: () => {
                this.heard();
                this.tell();
            },
        });
    }

    get isRunning() {
        return this.work.isRunning;
    }

    /** The lines that are known, the best first. */
    get found() {
        return this.lines.filter(Boolean);
    }

    /** Search what is asked now, if that is not what is being searched. */
    follow() {
        const asked = this.ask();
        const key = JSON.stringify(asked);
        if (asked === null) this.stop();
        if (asked === null || (this.isRunning && key === this.key)) return;
        if (key !== this.key) this.lines = [];
        Object.assign(this, { asked, key });
        this.depth = null; // of the lines that are coming
        this.heard();
        this.heard = wait();
        this.work.begin(asked);
        this.tell();
    }

    /** Stop. What was found stays as long as it is that of what would be asked. */
    stop() {
        this.work.drop();
        this.heard();
        if (!this.isCurrent(this.key)) this.lines = [];
        this.tell();
    }

    /** Whether this is still what would be asked now. */
    isCurrent(key) {
        return JSON.stringify(this.ask()) === key;
    }

    /** Lines of a new depth take the place of those before once there are as many: mixed, two may begin with one move. */
    #take(line) {
        if (line.depth !== this.depth) this.coming = [];
        this.depth = line.depth;
        this.coming[line.number - 1] = line;
        if (this.coming.filter(Boolean).length >= this.lines.length) this.lines = [...this.coming];
    }
}
