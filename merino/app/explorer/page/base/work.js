// Work of the server's that lasts: begun, told of while it goes on, and ended once, whichever way it ends.

import { showError } from "./dom.js";

const STOPPED = "stopped"; // the error of work that was asked to stop

/**
 * @typedef {object} Heard
 * @property {(message: any) => void} [told] gets each message but the last
 * @property {(message: any) => void} [done] gets the last one, if the work was not in vain
 * @property {(hasFailed: boolean) => void} [ended] is called when the work has ended in any way; an error is shown before
 */

/** One kind of work, by the path of its WebSocket. New work ends that before it, of which nothing more is heard. */
export class Work {
    isRunning = false;
    #path;
    #heard;
    #number = 0; // of the work begun last
    /** @type {WebSocket | null} */
    #socket = null;
    /** @type {string[]} */
    #waiting = []; // messages until the socket is open

    /**
     * @param {string} path
     * @param {Heard} heard
     */
    constructor(path, heard) {
        this.#path = path;
        this.#heard = heard;
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
            this.#heard.told?.(message);
            return;
        }
        this.isRunning = false;
        if (type === "done") this.#heard.done?.(message);
        else if (error !== STOPPED) showError(error);
        this.#heard.ended?.(type === "error");
    }
}
