// The server's answers. The page computes nothing about chess by itself: all of it is asked for here.

import { wait } from "./compiling.js";

const MAX_KEPT = 400;
const kept = new Map(); // answers by what was asked

class RequestFailed extends Error {}

async function call(method, path, body) {
    const end = wait();
    try {
        return await answered(method, path, body);
    } finally {
        end();
    }
}

async function answered(method, path, body) {
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
export const explainLine = ({ fen, moves, weights, changes, edition }, line) =>
    once("/api/line", { fen, moves, weights, changes, edition, line });

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
