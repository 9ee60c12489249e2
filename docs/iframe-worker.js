// Lets the search of the site work from the disk, where browsers allow no workers: the worker's script runs in a hidden
// frame instead. MkDocs Material's plugin `offline` looks for a script of this name, and would else load one from the
// network.

class IFrameWorker extends EventTarget {
    #frame = document.createElement("iframe");
    #isReady;

    constructor(url) {
        super();
        this.onmessage = null;
        this.#frame.hidden = true;
        document.body.append(this.#frame);
        this.#isReady = this.#load(url);
    }

    #load(url) {
        const { contentWindow: inside, contentDocument: page } = this.#frame;
        inside.postMessage = (data) => setTimeout(() => this.#hear(data));
        inside.importScripts = (...urls) =>
            urls.reduce((before, each) => before.then(() => this.#script(page, each)), Promise.resolve());
        return this.#script(page, url);
    }

    #script(page, url) {
        return new Promise((resolve, reject) => {
            const script = page.createElement("script");
            Object.assign(script, { src: url, onload: resolve, onerror: reject });
            page.body.append(script);
        });
    }

    #hear(data) {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
    }

    postMessage(data) {
        const inside = this.#frame.contentWindow;
        this.#isReady.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }

    terminate() {
        this.#frame.remove();
    }
}

window.IFrameWorker = IFrameWorker;
if (location.protocol === "file:") window.Worker = IFrameWorker;
