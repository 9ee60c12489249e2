// The dialog that asks what a pawn becomes.

import { byId, h, replace } from "../base/dom.js";
import { picture } from "./board.js";

const CHOICES = [
    ["q", "Queen"],
    ["r", "Rook"],
    ["b", "Bishop"],
    ["n", "Knight"],
];

/** The letter of the piece chosen, small, or null where the dialog was left. */
export function askPromotion(pawn) {
    const dialog = byId("promotion");
    const isWhite = pawn === pawn.toUpperCase();
    return new Promise((resolve) => {
        let answer = null;
        const choose = (letter) => {
            answer = letter;
            dialog.close();
        };
        const buttons = CHOICES.map(([letter, name]) =>
            h(
                "button",
                { type: "button", "data-piece": letter, title: name, onclick: () => choose(letter) },
                picture(isWhite ? letter.toUpperCase() : letter, 56),
                h("span", {}, name),
            ),
        );
        replace(dialog, h("div", { class: "promotion-row" }, buttons));
        dialog.onkeydown = (event) => press(event, buttons, choose);
        dialog.onclick = (event) => event.target === dialog && dialog.close();
        dialog.onclose = () => resolve(answer);
        dialog.showModal();
        placeOnBoard(dialog);
        buttons[0].focus();
    });
}

function press(event, buttons, choose) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length].focus();
    else if (/^[qrbn]$/i.test(event.key)) choose(event.key.toLowerCase());
    event.stopPropagation();
}

/** Put a dialog in the middle of the board. */
function placeOnBoard(dialog) {
    const board = byId("board").getBoundingClientRect(),
        own = dialog.getBoundingClientRect();
    dialog.style.margin = "0";
    dialog.style.left = `${Math.max(8, board.left + (board.width - own.width) / 2)}px`;
    dialog.style.top = `${Math.max(8, board.top + (board.height - own.height) / 2)}px`;
}
