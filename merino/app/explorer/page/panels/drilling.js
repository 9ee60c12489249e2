// Exercises from mistakes, walked through on the board: a move is refused with what refutes it, and then explained.

import { button, byId, h, note, panelBar } from "../base/dom.js";
import { guarded, say, showError, turns } from "../base/flow.js";
import { plural } from "../base/words.js";
import { post } from "../base/server.js";
import { judged } from "../state/analysis.js";
import { changed, isPlaying, listenTo, play, question, setGame, state, truncate, watchBoard } from "../state/store.js";

/** @type {any} */
let practice = null; // what the server says: { practice, attempts, exercises, due, practised, keeps }
/** @type {any} */
let identity = null; // of the exercise on the board
let phase = "idle"; // "ask", "judged" for as long as the server is asked of a move, "refused" or "explained"
let tries = 0;
let words = ""; // on the last move, or the exercise
let again = ""; // when it comes again
let found = 0;
let asked = 0;
let draw = () => {};

/** Begin a judgement, a solution or an exercise, or leave it. */
const begin = turns();
let isPresent = begin(); // whether what was begun last still goes on

function beginNow() {
    isPresent = begin();
    return isPresent;
}

const exercise = () => practice?.exercises[identity];
const about = (more = {}) => judged({ ...question(), practice: practice.practice, exercise: identity, ...more });

function show(text) {
    words = text;
    say(text);
    draw();
}

/** Begin with what is due of a practice that the server has opened. */
export function openPractice(message) {
    if (state.exercise) leave();
    practice = message;
    found = asked = 0;
    rest();
    if (practice.due.length) next();
}

/** Forget the practice: other games are loaded. */
export function closePractice() {
    if (state.exercise) leave();
    practice = null;
    rest();
}

/** Ask nothing for now. */
function rest() {
    beginNow();
    identity = null;
    phase = "idle";
    words = again = "";
}

/** Show the next exercise that is due. */
async function next() {
    if (isPlaying()) {
        showError("You play against Merino: end that game first");
        return;
    }
    rest();
    [identity] = practice.due;
    phase = "ask";
    tries = 0;
    asked += 1;
    const { fen, title } = exercise();
    state.exercise = identity;
    state.flipped = fen.split(" ")[1] === "b";
    changed("view", "play");
    await setGame({ fen, label: title });
    draw();
    byId("board").scrollIntoView({ block: "nearest", behavior: "instant" });
}

/** End the session; the progress is kept. */
function leave() {
    beginNow();
    state.exercise = null;
    phase = "idle";
    identity = null;
    changed("play");
    draw();
}

/** Judge the move that was made on the board. */
const judge = guarded(async (uci) => {
    const isLast = beginNow();
    phase = "judged";
    const reply = await post("/api/drill/answer", about({ move: uci }));
    if (!isLast()) return;
    if (reply.right) {
        await finish(tries === 0, tries === 0 ? "Correct." : "Correct this time.");
        return;
    }
    tries += 1;
    const answer = state.report?.moves.find((move) => move.san === reply.refutation[0]);
    if (answer) await play(answer.uci);
    if (!isLast()) return;
    if (tries >= practice.attempts) await finish(false, reply.sentence);
    else {
        phase = "refused";
        show(reply.sentence);
        byId("drill-again")?.focus();
    }
});

const tryAgain = guarded(async () => {
    phase = "ask";
    await truncate(0);
    show("");
});

const hint = guarded(async () => {
    const isStill = isPresent;
    tries = Math.max(tries, practice.attempts - 1);
    const reply = await post("/api/drill/answer", about());
    if (isStill()) show(reply.hint);
});

const solve = guarded(async () => {
    if (phase !== "explained") await finish(false, ""); // else it is on its way
});

/** Note whether it was found; whether this is still the exercise. */
async function review(isFound, isLast) {
    const mine = practice;
    if (!mine.keeps) {
        mine.due = mine.due.filter((each) => each !== identity);
        return true;
    }
    const reviewed = await post("/api/drill/review", about({ found: isFound }));
    Object.assign(mine, { due: reviewed.due, practised: reviewed.practised });
    if (isLast()) again = new Date(reviewed.again).toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" });
    else draw(); // how it stands
    return isLast();
}

/** Explain, note whether it was found, and put the solution with its line on the board, unless that has changed. */
async function finish(isFound, word) {
    const { fen, title, line, why } = exercise();
    const isLast = beginNow(),
        isAsBefore = watchBoard();
    phase = "explained";
    found += Number(isFound);
    if (!(await review(isFound, isLast))) return;
    state.exercise = null;
    changed("play");
    const read = await post("/api/read", { text: line.join(" "), fen });
    if (!isLast()) return;
    if (isAsBefore()) await setGame({ fen, moves: read.games[0].moves, label: title }, 1);
    show(`${word} ${why}`.trim());
    byId("drill-next")?.focus();
}

function bar() {
    if (phase === "ask")
        return [
            button("drill-hint", "Hint", hint),
            button("drill-show", "Show the solution", solve),
            button("drill-leave", "Stop", leave),
        ];
    if (phase === "refused") return button("drill-again.main", "Try again", tryAgain);
    const label = phase === "explained" ? "Next exercise" : "Go on";
    return practice.due.length ? button("drill-next.main", label, next) : null;
}

function questionNow() {
    const { fen, number, played, title, game } = exercise();
    const side = fen.split(" ")[1] === "b" ? "Black" : "White";
    const text = `${side} to move. Played was ${number}${played}; what is better?`;
    return [note(`Game ${game}, ${title}`), h("p#drill-question", text)];
}

function standing() {
    const { due, exercises, practised, keeps } = practice;
    const all = plural(Object.keys(exercises).length, "exercise");
    const score = asked ? `; ${found} of ${asked} found now` : "";
    const lost = keeps ? "" : " Progress is not kept: that needs the extra drill (pip install 'merino-chess[drill]').";
    return `${due.length} due of ${all}, ${practised} practised${score}.${lost}`;
}

/** The exercise on the board in words, and what can be done; null without practice. */
export function drillSection() {
    if (!practice) return null;
    const isDone = ["idle", "explained"].includes(phase) && !practice.due.length;
    return h(
        "section#drill.card",
        { "aria-label": "Exercises" },
        h("h3", "Exercises"),
        exercise() && phase !== "explained" ? questionNow() : null,
        h("p#drill-words.summary", words),
        again ? h("p#drill-next-time.note", `Asked again on ${again}.`) : null,
        isDone ? h("p", "Nothing is due. Come back later, or play some more games.") : null,
        isDone ? null : panelBar(bar()),
        h("p#drill-standing.note", { title: `Progress is in ${practice.practice}` }, standing()),
    );
}

/** Follow the board: the first move in an exercise is the answer; another game leaves it. */
export function makeDrilling(redraw) {
    draw = redraw;
    listenTo(["moves", "mode", "report"], (topics) => {
        if (!state.exercise) return;
        const isAnswered = topics.has("report") && state.moves.length === 1 && state.at === 1;
        const isOther = isPlaying() || state.fen !== exercise().fen; // against Merino also one that begins with it
        if (state.mode !== "game" || isOther) leave();
        else if (phase === "ask" && isAnswered) judge(state.moves[0].uci);
    });
}
