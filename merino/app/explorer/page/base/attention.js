// Whether somebody looks: the page is visible, and has been touched within some minutes.

const SIGNS = ["pointermove", "pointerdown", "keydown", "wheel"];

/** Milliseconds without a sign after which nobody looks. */
export const patience = { ms: 10 * 60 * 1000 };

const listeners = [];
let last = performance.now();
let was = true;

export const isLooked = () => !document.hidden && performance.now() - last < patience.ms;

/** Call `listener(isLooked)` when somebody begins to look, or nobody does any longer. */
export const onLook = (listener) => listeners.push(listener);

function check() {
    const is = isLooked();
    if (is === was) return;
    was = is;
    listeners.forEach((listener) => listener(is));
}

function touch() {
    last = performance.now();
    if (!was) check();
}

for (const sign of SIGNS) document.addEventListener(sign, touch, { passive: true, capture: true });
document.addEventListener("visibilitychange", () => {
    if (!document.hidden) last = performance.now();
    check();
});
setInterval(check, 1000);
