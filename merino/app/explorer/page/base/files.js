// Files that the user opens or saves, and the bytes in them.

import { h } from "./dom.js";

/** A file for the user, who is asked where it goes where the browser can ask. */
export async function saveFile(name, content, kind) {
    const blob = content instanceof Blob ? content : new Blob([content], { type: kind });
    const ask = /** @type {any} */ (window).showSaveFilePicker; // which not all browsers have
    if (!ask || navigator.webdriver) {
        const link = h("a", { href: URL.createObjectURL(blob), download: name });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
        return;
    }
    try {
        const stream = await (await ask({ suggestedName: name })).createWritable();
        await stream.write(blob);
        await stream.close();
    } catch (error) {
        if (!(error instanceof Error && error.name === "AbortError")) throw error;
    }
}

/** Each byte as the character of that number, as in Latin-1; the decoder of that name in browsers has others. */
function characters(bytes) {
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return text;
}

/** The bytes of a file, or of a part of it, in base64, as the server takes them. */
export const base64 = async (file) => btoa(characters(new Uint8Array(await file.arrayBuffer())));

/** Ask the user for files, of which nothing is read yet. */
export function chooseFiles(accept, multiple = false) {
    return new Promise((resolve) => {
        const input = h("input", { type: "file", accept, multiple });
        input.addEventListener("change", () => input.files.length && resolve([...input.files]));
        input.click();
    });
}
