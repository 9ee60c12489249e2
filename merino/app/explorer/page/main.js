// The page: makes its parts, reads the address, and knows the keys.

import { get } from "./base/api.js";
import { keep, keepText, recall, recallText } from "./base/browser_storage.js";
import { around, byId, checkField, guarded, h, replace, showError, tellError } from "./base/dom.js";
import { focusBoard, makeBoard } from "./board/board.js";
import { makeExpectedBar } from "./board/expected_bar.js";
import { makeFree } from "./board/free.js";
import { makePlaying } from "./board/playing.js";
import { flip, makeControls, nextWay, redo, setMode, undo } from "./controls/controls.js";
import { enter, makeEntry } from "./controls/entry.js";
import { makeHands } from "./controls/hands.js";
import { showLink } from "./controls/links.js";
import { makeLook } from "./controls/look_dialog.js";
import { askToPlay, makePlayControls } from "./controls/play_controls.js";
import { makeShare } from "./controls/share.js";
import { isFirstVisit, makeWelcome, welcome } from "./controls/welcome.js";
import { makeLive } from "./panels/analysis_view.js";
import { makeBars } from "./panels/bars.js";
import { ofFile, ofServer } from "./panels/game_sources.js";
import { makeGames, openGames } from "./panels/games.js";
import { makeMoveList } from "./panels/move_list.js";
import { makeMoves } from "./panels/moves.js";
import { makeShapley } from "./panels/shapley.js";
import { makeTerms } from "./panels/terms.js";
import { makeVerdict } from "./panels/verdict.js";
import { loadChangedWeights, loadWeights, makeWeights } from "./panels/weights.js";
import { makeAnalysis, switchAnalysis } from "./state/analysis.js";
import { makeOpening } from "./state/opening.js";
import { makeReload, restoreBoard, wasReloaded } from "./state/reload.js";
import { goTo, listenTo, redoEdit, refresh, setFree, state, undoEdit } from "./state/store.js";
import { makeTabs, openTab, shownTab } from "./state/tabs.js";

const KEYS = [
    ["\u2190 \u2192", "A move back or forward in the game; on the board, from square to square"],
    ["Home End", "To the start and the end of the game"],
    ["Enter", "On the board: pick up or put down a piece"],
    ["Esc", "Let go"],
    ["/", "To the box for moves, FEN and PGN"],
    ["B", "To the board"],
    ["A", "Analysis on or off"],
    ["P", "Play against Merino"],
    ["Ctrl+Z Ctrl+Y", "Undo and redo the last change of the game"],
    ["V", "The next kind of value"],
    ["F", "Turn the board round"],
    ["M", "Game or free mode"],
    ["T", "Light or dark"],
    ["P N B R Q K", "In free mode: a white piece on the square; small letters a black one; Delete takes it off"],
    ["?", "This"],
];

function makeTheme() {
    const button = byId("theme");
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const show = () => {
        const chosen = recallText("theme");
        if (chosen) document.documentElement.dataset.theme = chosen;
        else delete document.documentElement.dataset.theme;
        button.setAttribute("aria-pressed", String(isDark()));
        button.textContent = isDark() ? "\u2600" : "\u263e";
    };
    const isDark = () => (recallText("theme") ?? (dark.matches ? "dark" : "light")) === "dark";
    const turn = () => {
        keepText("theme", isDark() ? "light" : "dark");
        show();
    };
    button.onclick = turn;
    dark.addEventListener("change", show);
    show();
    return turn;
}

const hasLetterKeys = () => recall("letter-keys", true);

/** A switch for who speaks to a browser, or holds a hand on the keys. */
const letterKeys = () =>
    checkField({ id: "letter-keys" }, "Keys of one character", hasLetterKeys(), (isOn) => keep("letter-keys", isOn));

function makeHelp(start) {
    const dialog = byId("help-dialog");
    const showExamples = () => {
        dialog.close();
        welcome();
        byId("tour-start").focus();
    };
    const title = h("h2", { id: "help-title", tabindex: -1 }, "Keys");
    replace(
        dialog,
        title,
        h(
            "dl",
            { class: "keys" },
            KEYS.map(([key, what]) => h("div", {}, h("dt", {}, key), h("dd", {}, what))),
        ),
        h(
            "p",
            {},
            "Everything is counted from White's view: blue is good for White, orange for Black. Point at a move, or drag a piece and hold it, to see how the value of each piece changes.",
        ),
        h("p", { class: "note" }, `${start.name} ${start.version}`),
        h(
            "form",
            { method: "dialog", class: "panel-bar" },
            h("button", { class: "main" }, "Close"),
            h("button", { type: "button", id: "show-welcome", onclick: showExamples }, "Examples and tour"),
            letterKeys(),
        ),
    );
    const show = () => {
        dialog.showModal();
        title.focus(); // read from its beginning, not from its first button
    };
    byId("help").onclick = show;
    return show;
}

/** Whether a key scrolls the box that has the focus. */
function scrolls({ key, target }) {
    const isWider = target.scrollWidth > target.clientWidth,
        isTaller = target.scrollHeight > target.clientHeight;
    const scrolled = { ArrowLeft: isWider, ArrowRight: isWider, Home: isTaller, End: isTaller };
    return target.matches("[role='region'][tabindex='0']") && scrolled[key];
}

function makeKeys(turnTheme, showHelp) {
    const keys = {
        ArrowLeft: undo,
        ArrowRight: redo,
        u: undo,
        r: redo,
        Home: () => goTo(0),
        End: () => goTo(state.moves.length),
        f: flip,
        v: nextWay,
        a: switchAnalysis,
        p: askToPlay,
        t: turnTheme,
        "?": showHelp,
        m: () => setMode(state.mode === "game" ? "free" : "game"),
        "/": () => byId("entry-text").focus(),
        b: focusBoard,
    };
    document.addEventListener("keydown", (event) => {
        const isLetter = event.key.length === 1;
        const key = isLetter && !event.shiftKey ? event.key.toLowerCase() : event.key; // with Caps Lock too
        if (event.ctrlKey || event.metaKey) {
            if (around(event, "input, textarea")) return;
            const change = { z: undoEdit, y: redoEdit }[key];
            if (!change) return;
            event.preventDefault();
            change();
            return;
        }
        if (event.altKey || around(event, "input, select, textarea, dialog")) return;
        const action = keys[key];
        if (!action || scrolls(event) || (isLetter && !hasLetterKeys())) return;
        event.preventDefault();
        action();
    });
}

/** Take files that were dropped: a result that was shared, games to learn from where that is open, or games to list. */
async function takeDropped(files) {
    const [file] = files;
    const isShared = file.name.endsWith(".json");
    if (isShared) openTab("learning");
    if (shownTab() === "learning") await (await import("./panels/teaching.js")).dropOnTeaching(files);
    else await openGames(ofFile(file, file.name));
}

/** Let files be dropped on the page. */
function makeDrop() {
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
        const files = event.dataTransfer?.files ?? [];
        if (!files.length) return;
        event.preventDefault();
        takeDropped(files).catch(tellError);
    });
}

/** Show what the address or the command line asks for; where the page is loaded again, what the tab showed before. */
async function show(start) {
    const isResult = location.hash.startsWith("#taught="); // which is shown on a panel of its own
    const isShown = (wasReloaded() && (await restoreBoard())) || (await showLink(location.hash));
    if (start.file) await openGames(ofServer(start.file), isShown || isResult);
    else if (isShown) return;
    else if (start.free) await setFree(start.text);
    else if (start.text) await enter(start.text);
    else if (!(await restoreBoard()) && isFirstVisit()) welcome();
}

/** Their names, and what makes each: at once, or loaded when it is first opened. */
const TABS = [
    ["terms", "Terms", makeTerms],
    ["pieces", "Pieces", makeBars],
    ["moves", "Moves", makeMoves],
    ["compare", "Compare", null, async () => (await import("./panels/compare.js")).makeCompare],
    ["weights", "Weights", makeWeights],
    ["games", "Games", makeGames],
    ["player", "Player", null, async () => (await import("./panels/player.js")).makePlayer],
    ["learning", "Teach", null, async () => (await import("./panels/teaching.js")).makeTeaching],
];

/** The place of errors: over all in one column; beside others over the board, which stays in view. */
function makeErrorBox() {
    const box = byId("error"),
        [layout, board] = document.querySelectorAll(".layout, .left"),
        columns = matchMedia("(min-width: 60rem)");
    const put = () => (columns.matches ? board.prepend(box) : layout.before(box));
    box.lastElementChild.onclick = () => showError(null);
    columns.onchange = put;
    put();
}

async function begin() {
    makeLook();
    makeErrorBox();
    makeBoard();
    makeHands();
    makeFree();
    makeVerdict();
    makeExpectedBar();
    makeShapley();
    makeTabs(TABS);
    makeEntry();
    makeWelcome();
    makeShare();
    const turnTheme = makeTheme();
    const first = refresh({ silent: true });
    makeLive();
    makeAnalysis();
    const [start] = await Promise.all([get("/api/start"), loadWeights()]);
    makeControls();
    makePlayControls(start.levels);
    makePlaying();
    makeMoveList();
    makeOpening();
    makeKeys(turnTheme, makeHelp(start));
    await first;
    await show(start).catch(tellError);
    makeReload();
    makeDrop();
    window.addEventListener("hashchange", () => showLink(location.hash));
    window.addEventListener("focus", guarded(loadChangedWeights)); // the user comes back, perhaps from an editor
    listenTo(["mode", "moves"], () => {
        document.title = state.label ? `${state.label} - Merino Explorer` : "Merino Explorer";
    });
    document.documentElement.dataset.ready = "yes";
}

begin().catch(tellError);
