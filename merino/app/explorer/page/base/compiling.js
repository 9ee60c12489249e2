// Whether the server still compiles what an answer needs: asked while one is waited for, and told in words.

const PATIENCE_MS = 700; // of waiting before the server is asked, and between two questions

let waits = 0;
let timer = 0;
let told = "";
/** @type {(() => void)[]} */
const listeners = [];

/** "compiling for this machine, once: 40%, 12 s left"; empty where nothing that is waited for is compiled. */
export const compilingText = () => told;

/** Call `listener` when that text changes. */
export const onCompiling = (listener) => listeners.push(listener);

/** Begin to wait for an answer; the function returned ends that. */
export function wait() {
    waits += 1;
    if (!timer) timer = setTimeout(ask, PATIENCE_MS);
    let isOver = false;
    return () => {
        if (!isOver) waits -= 1;
        isOver = true;
        if (!waits) tell("");
    };
}

function tell(text) {
    if (text === told) return;
    told = text;
    listeners.forEach((listener) => listener());
}

async function ask() {
    const found = waits
        ? await fetch("/api/compiling").then(
              (answer) => answer.json(),
              () => null,
          )
        : null;
    tell(found?.compiling && waits ? inWords(found.compiling) : "");
    timer = waits ? setTimeout(ask, PATIENCE_MS) : 0;
}

function inWords({ share, seconds_left: seconds }) {
    const left = seconds === null ? "" : `, ${seconds} s left`;
    return `compiling for this machine, once: ${Math.round(100 * share)}%${left}`;
}
