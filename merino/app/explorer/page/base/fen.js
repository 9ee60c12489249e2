// The board part of a FEN, read and written.

export const FILES = "abcdefgh";

/** The pieces of the board of a FEN: letters by square. */
export function boardOf(fen) {
    const found = new Map();
    fen.split(" ")[0]
        .split("/")
        .forEach((row, index) => {
            let file = 0;
            for (const sign of row) {
                if (/\d/.test(sign)) file += Number(sign);
                else found.set(FILES[file++] + (8 - index), sign);
            }
        });
    return found;
}

/** The board part of a FEN from letters by square. */
export function fenOf(pieces) {
    const rows = [];
    for (let rank = 8; rank >= 1; rank--) {
        let row = "",
            gap = 0;
        for (const file of FILES) {
            const letter = pieces.get(file + rank);
            if (!letter) {
                gap += 1;
                continue;
            }
            row += (gap || "") + letter;
            gap = 0;
        }
        rows.push(row + (gap || ""));
    }
    return rows.join("/");
}
