// A sound for a move and for the end of a game, if it is wanted.

import { keep, recall } from "./browser_storage.js";

const PITCH = { move: [520], end: [520, 390] }; // hertz
const SECONDS = 0.09;
/** @type {any} */
let context = null;

export const hasSound = () => recall("sound", false);
export const setSound = (isOn) => keep("sound", isOn);

export function chime(what) {
    if (!hasSound()) return;
    context ??= new AudioContext();
    PITCH[what].forEach((pitch, index) => {
        const tone = context.createOscillator(),
            volume = context.createGain(),
            begin = context.currentTime + 1.5 * SECONDS * index;
        tone.frequency.value = pitch;
        volume.gain.setValueAtTime(0.15, begin);
        volume.gain.exponentialRampToValueAtTime(0.001, begin + SECONDS);
        tone.connect(volume).connect(context.destination);
        tone.start(begin);
        tone.stop(begin + SECONDS);
    });
}
