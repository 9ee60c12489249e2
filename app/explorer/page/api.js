// The server's answers. The page computes nothing about chess by itself: all of it is asked for here.

const MAX_KEPT = 400;
const kept = new Map(); // answers by what was asked

class RequestFailed extends Error {}

async function call(method, path, body) {
    let answer;
    try {
        answer = await fetch(
            path,
            body === undefined
                ? { method }
                : {
                      method,
                      body: JSON.stringify(body),
                      headers: { "content-type": "application/json" },
                  },
        );
    } catch {
        throw new RequestFailed("the server does not answer: is 'merino explorer' still running?");
    }
    const data = await answer.json();
    if (!answer.ok) throw new RequestFailed(data.error ?? `the server answered ${answer.status}`);
    return data;
}

export const get = (path) => call("GET", path);
export const post = (path, body) => call("POST", path, body);

/** The report of a position; the same question is asked once. */
export const explain = (question) => once("/api/explain", question);

/** The positions of a line of what is asked about, and what it leads to. */
export const explainLine = ({ fen, moves, weights, changes }, line) =>
    once("/api/line", { fen, moves, weights, changes, line });

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

/** Work that tells how it goes: `hear` gets each message, and one of type "error" or "done" last. */
export function channel(path, hear) {
    let socket = null;
    let waiting = [];
    let current = 0; // the work asked for last; what is still said of work before it is not heard
    function open() {
        socket = new WebSocket(`ws://${location.host}${path}`);
        socket.onopen = () => {
            waiting.forEach((text) => socket.send(text));
            waiting = [];
        };
        socket.onmessage = (event) =>
            JSON.parse(event.data)
                .filter((message) => (message.id ?? current) === current)
                .forEach(hear);
        socket.onclose = () => {
            socket = null;
            hear({ type: "closed" });
        };
    }
    function send(message) {
        const text = JSON.stringify(message);
        if (!socket) open();
        if (socket.readyState === WebSocket.OPEN) socket.send(text);
        else waiting.push(text);
    }
    return {
        send: (message) => send({ ...message, id: ++current }),
        stop() {
            if (socket) send({ stop: true });
        },
        close() {
            if (socket) {
                socket.onclose = null;
                socket.close();
                socket = null;
            }
        },
    };
}
