// The server's answers, and its work that lasts. The page computes nothing about chess by itself: it asks for all of it.

import { showError } from "./flow.js";

const MAX_KEPT = 400; // answers
const PATIENCE_MS = 700; // of waiting before the server is asked whether it compiles, and between two questions
const STOPPED = "stopped"; // the error of work that was asked to stop

const kept = new Map(); // answers by what was asked
const compiling = { waits: 0, timer: 0, text: "", listeners: /** @type {(() => void)[]} */ ([]) };

/** "compiling for this machine (once): 40%, 12 s left"; empty where no answer waits for the compiler. */
export const compilingText = () => compiling.text;

/** Call `listener` when that text changes. */
export const onCompiling = (listener) => compiling.listeners.push(listener);

/** Begin to wait for an answer; the function returned ends that. */
function wait() {
    compiling.waits += 1;
    compiling.timer ||= setTimeout(askCompiling, PATIENCE_MS);
    let isOver = false;
    return () => {
        if (!isOver) compiling.waits -= 1;
        isOver = true;
        if (!compiling.waits) setCompiling(null);
    };
}

function setCompiling(found) {
    const left = found?.seconds_left ? `, ${found.seconds_left} s left` : "";
    const text = found ? `compiling for this machine (once): ${Math.round(100 * found.share)}%${left}` : "";
    if (text === compiling.text) return;
    compiling.text = text;
    document.documentElement.style.setProperty("--compiling", text && JSON.stringify(`: ${text}`));
    for (const listener of compiling.listeners) listener();
}

async function askCompiling() {
    const answer = compiling.waits ? await fetch("/api/compiling").catch(() => null) : null;
    const found = answer ? await answer.json() : null;
    setCompiling(compiling.waits ? (found?.compiling ?? null) : null);
    compiling.timer = compiling.waits ? setTimeout(askCompiling, PATIENCE_MS) : 0;
}

async function call(path, options) {
    const end = wait();
    try {
        const answer = await fetch(path, options).catch(() => {
            throw new Error("the server does not answer: is 'merino explorer' still running?");
        });
        const data = await answer.json();
        if (!answer.ok) throw new Error(data.error ?? `the server answered ${answer.status}`);
        return data;
    } finally {
        end();
    }
}

export const get = (path) => call(path, { method: "GET" });
export const post = (path, body) =>
    call(path, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } });

/** The report of a position; the same question is asked once. */
export const explain = (question) => once("/api/explain", question);

/** The positions of a line of what is asked about, and what it leads to. */
export const explainLine = ({ fen, moves }, line) => once("/api/line", { fen, moves, line });

function once(path, question) {
    const key = JSON.stringify([path, question]);
    let answer = kept.get(key);
    if (!answer) {
        answer = post(path, question);
        kept.set(key, answer);
        answer.catch(() => kept.delete(key));
        if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value);
    }
    return answer;
}

/**
 * @typedef {object} Listener
 * @property {(message: any) => void} [heard] gets each message but the last
 * @property {(message: any) => void} [done] gets the last one, if the work was not in vain
 * @property {(hasFailed: boolean) => void} [ended] is called when the work has ended in any way; an error is shown before
 */

/** One kind of work, by the path of its WebSocket. New work ends that before it, of which nothing more is heard. */
export class Work {
    isRunning = false;
    #path;
    #listener;
    #number = 0; // of the work begun last
    /** @type {WebSocket | null} */
    #socket = null;
    /** @type {string[]} */
    #waiting = []; // messages until the socket is open

    /**
     * @param {string} path
     * @param {Listener} listener
     */
    constructor(path, listener) {
        this.#path = path;
        this.#listener = listener;
    }

    /** Begin with what the server is asked. */
    begin(asked) {
        this.isRunning = true;
        this.#send({ ...asked, id: ++this.#number });
    }

    /** Ask the work to end; what it then says is still heard. */
    stop() {
        if (this.isRunning) this.#send({ stop: true });
    }

    /** End the work, and hear nothing more of it. */
    drop() {
        this.stop();
        this.isRunning = false;
    }

    #send(message) {
        const text = JSON.stringify(message);
        this.#socket ??= this.#opened();
        if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text);
        else this.#waiting.push(text);
    }

    #opened() {
        const socket = new WebSocket(`ws://${location.host}${this.#path}`);
        socket.onopen = () => {
            for (const text of this.#waiting.splice(0)) socket.send(text);
        };
        socket.onmessage = (event) => JSON.parse(event.data).forEach((message) => this.#hear(message));
        socket.onclose = (event) => {
            this.#socket = null;
            this.#waiting = [];
            const why = event.reason || "is 'merino explorer' still running?";
            this.#hear({ type: "error", error: `the connection to the server has ended: ${why}` });
        };
        return socket;
    }

    #hear(message) {
        if (!this.isRunning || (message.id ?? this.#number) !== this.#number) return;
        const { type, error } = message;
        if (type !== "done" && type !== "error") {
            this.#listener.heard?.(message);
            return;
        }
        this.isRunning = false;
        if (type === "done") this.#listener.done?.(message);
        else if (error !== STOPPED) showError(error);
        this.#listener.ended?.(type === "error");
    }
}

/** A search that is followed as it goes deeper: one of what is asked now, until it is stopped. */
export class Search {
    lines = []; // the messages of the server, the best first
    asked = null; // what is searched, or was: lines are of this
    key = null; // the same as text
    /** @type {any[]} */
    #coming = []; // lines of a depth of which not all are known
    #depth = null; // of these
    #heard = () => {}; // called with the first line, or where there will be none
    #work;

    /** `ask` gives what the server is asked, or null for no search; `changed` is called when lines or state change. */
    constructor(ask, changed) {
        this.ask = ask;
        this.changed = changed;
        const hear = (line) => {
            this.#heard();
            if (line) this.#take(line);
            this.changed();
        };
        this.#work = new Work("/ws/search", { heard: hear, ended: () => hear(null) });
    }

    get isRunning() {
        return this.#work.isRunning;
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
        this.#depth = null;
        this.#heard();
        this.#heard = wait();
        this.#work.begin(asked);
        this.changed();
    }

    /** Stop. What was found stays as long as it is that of what would be asked. */
    stop() {
        this.#work.drop();
        this.#heard();
        if (!this.isCurrent(this.key)) this.lines = [];
        this.changed();
    }

    /** Whether this is still what would be asked now. */
    isCurrent(key) {
        return JSON.stringify(this.ask()) === key;
    }

    /** Lines of a new depth take the place of those before once there are as many: mixed, two may begin with one move. */
    #take(line) {
        if (line.depth !== this.#depth) this.#coming = [];
        this.#depth = line.depth;
        this.#coming[line.number - 1] = line;
        if (this.#coming.filter(Boolean).length >= this.lines.length) this.lines = [...this.#coming];
    }
}
