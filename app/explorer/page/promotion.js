// The dialog that asks what a pawn becomes.

import { byId, h, replace } from "./dom.js";
import { picture } from "./board.js";

/** The letter of the piece chosen, small, or null where the dialog was left. */
export function askPromotion(pawn) {
    const dialog = byId("promotion");
    const isWhite = pawn === pawn.toUpperCase();
    return new Promise((resolve) => {
        let answer = null;
        const buttons = [
            ["q", "Queen"],
            ["r", "Rook"],
            ["b", "Bishop"],
            ["n", "Knight"],
        ].map(([letter, name]) =>
            h(
                "button",
                {
                    type: "button",
                    "data-piece": letter,
                    title: name,
                    onclick: () => {
                        answer = letter;
                        dialog.close();
                    },
                },
                picture(isWhite ? letter.toUpperCase() : letter, 56),
                h("span", {}, name),
            ),
        );
        replace(dialog, h("div", { class: "promotion-row" }, buttons));
        dialog.onkeydown = (event) => {
            const at = buttons.indexOf(document.activeElement);
            const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            if (step) buttons[(at + step + buttons.length) % buttons.length].focus();
            else if (/^[qrbn]$/i.test(event.key)) {
                answer = event.key.toLowerCase();
                dialog.close();
            }
            event.stopPropagation();
        };
        dialog.onclick = (event) => {
            if (event.target === dialog) dialog.close();
        };
        dialog.onclose = () => resolve(answer);
        dialog.showModal();
        const board = byId("board").getBoundingClientRect(),
            own = dialog.getBoundingClientRect();
        dialog.style.margin = "0";
        dialog.style.left = `${Math.max(8, board.left + (board.width - own.width) / 2)}px`;
        dialog.style.top = `${Math.max(8, board.top + (board.height - own.height) / 2)}px`;
        buttons[0].focus();
    });
}
