// Exercises from mistakes, walked through on the board: a move is refused with what refutes it, and the reason is told.

import { post } from "../base/api.js";
import { button, byId, guarded, h, panelBar, plural, say, showError } from "../base/dom.js";
import { changed, isPlaying, listen, play, setGame, state, truncate, watchBoard } from "../state/store.js";

/** @type {any} */
let practice = null; // what the server tells: { practice, attempts, exercises, due, practised, keeps }
/** @type {any} */
let identity = null; // of the exercise on the board
let phase = "idle"; // "ask", "judged" for as long as the server is asked of a move, "refused" or "told"
let turn = 0; // how often a judgement, a solution or an exercise was begun, or the exercise left
let tries = 0;
let told = ""; // what is said of the last move, or of the exercise
let again = ""; // when it comes again
let found = 0;
let asked = 0;
let draw = () => {};

const exercise = () => practice?.exercises[identity];
const about = (more = {}) => ({ practice: practice.practice, exercise: identity, ...more });

/** Begin something new; a function that tells whether nothing has been begun since. */
function begin() {
    const mine = ++turn;
    return () => mine === turn;
}

function tell(text) {
    told = text;
    say(text);
    draw();
}

/** Begin with what is due of a practice that the server has opened. */
export function openPractice(message) {
    if (state.exercise) leave();
    begin();
    practice = message;
    identity = null;
    phase = "idle";
    told = again = "";
    found = asked = 0;
    if (practice.due.length) next();
}

/** Forget the practice: other games are loaded. */
export function closePractice() {
    if (state.exercise) leave();
    begin();
    practice = identity = null;
    phase = "idle";
}

/** Show the next exercise that is due. */
async function next() {
    if (isPlaying()) {
        showError("You play against Merino: end that game first");
        return;
    }
    begin();
    [identity] = practice.due;
    phase = identity ? "ask" : "idle";
    tries = 0;
    told = again = "";
    if (!identity) {
        leave();
        return;
    }
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
    begin();
    state.exercise = null;
    phase = "idle";
    identity = null;
    changed("play");
    draw();
}

/** Judge the move that was made on the board. */
const judge = guarded(async (uci) => {
    const isLast = begin();
    phase = "judged";
    const reply = await post("/api/drill/answer", about({ move: uci }));
    if (!isLast()) return;
    if (reply.right) {
        await finish(tries === 0, tries === 0 ? "Right." : "Right this time.");
        return;
    }
    tries += 1;
    const answer = state.report?.moves.find((move) => move.san === reply.refutation[0]);
    if (answer) await play(answer.uci);
    if (!isLast()) return;
    if (tries >= practice.attempts) await finish(false, reply.sentence);
    else {
        phase = "refused";
        tell(reply.sentence);
        byId("drill-again")?.focus();
    }
});

const tryAgain = guarded(async () => {
    phase = "ask";
    await truncate(0);
    tell("");
});

const hint = guarded(async () => {
    const mine = turn;
    tries = Math.max(tries, practice.attempts - 1);
    const { hint: words } = await post("/api/drill/answer", about());
    if (mine === turn) tell(words);
});

const solve = guarded(async () => {
    if (phase !== "told") await finish(false, ""); // else it is on its way
});

/** Tell why, note whether it was found, and put the solution with its line on the board, unless that has changed. */
async function finish(isFound, word) {
    const { fen, title, line, why } = exercise();
    const mine = practice,
        isLast = begin(),
        isAsBefore = watchBoard();
    phase = "told";
    found += Number(isFound);
    if (practice.keeps) {
        const reviewed = await post("/api/drill/review", about({ found: isFound }));
        Object.assign(mine, { due: reviewed.due, practised: reviewed.practised });
        if (!isLast()) {
            draw(); // how it stands
            return;
        }
        again = new Date(reviewed.again).toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" });
    } else practice.due = practice.due.filter((each) => each !== identity);
    state.exercise = null;
    changed("play");
    const read = await post("/api/read", { text: line.join(" "), fen });
    if (!isLast()) return;
    if (isAsBefore()) await setGame({ fen, moves: read.games[0].moves, label: title }, 1);
    tell(`${word} ${why}`.trim());
    byId("drill-next")?.focus();
}

function bar() {
    if (phase === "ask")
        return [
            button("drill-hint", "Hint", hint),
            button("drill-show", "Show the solution", solve),
            button("drill-leave", "Stop", leave),
        ];
    if (phase === "refused") return [button("drill-again", "Try again", tryAgain, { class: "main" })];
    if (practice.due.length)
        return [button("drill-next", phase === "told" ? "Next exercise" : "Go on", next, { class: "main" })];
    return [];
}

function question() {
    const { fen, number, played, title, game } = exercise();
    const side = fen.split(" ")[1] === "b" ? "Black" : "White";
    return [
        h("p", { class: "note" }, `Game ${game}, ${title}`),
        h("p", { id: "drill-question" }, `${side} to move. Played was ${number}${played}; what is better?`),
    ];
}

function standing() {
    const all = Object.keys(practice.exercises).length;
    const words = `${practice.due.length} due of ${plural(all, "exercise")}, ${practice.practised} practised`;
    const score = asked ? `; ${found} of ${asked} found now` : "";
    const lost = practice.keeps
        ? ""
        : " Progress is not kept: that needs the extra drill (pip install 'merino-chess[drill]').";
    return `${words}${score}.${lost}`;
}

/** The exercise on the board in words, and what can be done; null without practice. */
export function drillSection() {
    if (!practice) return null;
    return h(
        "section",
        { class: "card", id: "drill", "aria-label": "Exercises" },
        h("h3", {}, "Exercises"),
        exercise() && phase !== "told" ? question() : null,
        h("p", { class: "summary", id: "drill-told" }, told),
        again ? h("p", { class: "note", id: "drill-next-time" }, `Asked again on ${again}.`) : null,
        phase === "idle" && !practice.due.length
            ? h("p", {}, "Nothing is due. Come back later, or play some more games.")
            : null,
        panelBar(bar()),
        h("p", { class: "note", id: "drill-standing", title: `Progress is in ${practice.practice}` }, standing()),
    );
}

/** Follow the board: the first move in an exercise is the answer; another game leaves it. */
export function makeDrilling(redraw) {
    draw = redraw;
    listen((topics) => {
        if (!state.exercise || !["moves", "mode", "report"].some((topic) => topics.has(topic))) return;
        const isAnswered = topics.has("report") && state.moves.length === 1 && state.at === 1;
        const isOther = isPlaying() || state.fen !== exercise().fen; // against Merino also one that begins with it
        if (state.mode !== "game" || isOther) leave();
        else if (phase === "ask" && isAnswered) judge(state.moves[0].uci);
    });
}
