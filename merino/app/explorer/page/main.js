// The page: makes its parts, reads the address, and knows the keys.

import { byId } from "./base/dom.js";
import { around, guarded, reportError, showError } from "./base/flow.js";
import { keep, recall } from "./base/kept.js";
import { get } from "./base/server.js";
import { focusBoard, makeBoard } from "./board/board.js";
import { makeFree } from "./board/free.js";
import { askToPlay, makePlay } from "./controls/play.js";
import { flip, makeControls, nextWay, redo, setMode, undo } from "./controls/controls.js";
import { enter, makeEntry, showLink } from "./controls/entry.js";
import { makeHands } from "./controls/hands.js";
import { makeShare } from "./controls/share.js";
import { isFirstVisit, makeWelcome, welcome } from "./controls/welcome.js";
import { makeLive } from "./panels/analysis_view.js";
import { makeBars } from "./panels/bars.js";
import { makeGames, ofFile, ofServer, openGames } from "./panels/games.js";
import { makeMoveList } from "./panels/move_list.js";
import { makeMoves } from "./panels/moves.js";
import { makeTerms } from "./panels/terms.js";
import { makeVerdict } from "./panels/verdict.js";
import { loadChangedWeights, loadWeights, makeWeights } from "./panels/weights.js";
import { makeAnalysis, switchAnalysis } from "./state/analysis.js";
import { goTo, keepPages, listenTo, redoEdit, refresh, setFree, showPage, state, undoEdit } from "./state/store.js";
import { makeTabs, shownTab } from "./state/tabs.js";

/** Light or dark, and the colours of the board. */
function makeLooks() {
    const button = byId("theme");
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (recall("theme", "") || (dark.matches ? "dark" : "light")) === "dark";
    const show = () => {
        document.documentElement.style.colorScheme = recall("theme", "");
        button.setAttribute("aria-pressed", String(isDark()));
        button.textContent = isDark() ? "\u2600" : "\u263e";
    };
    button.onclick = () => {
        keep("theme", isDark() ? "light" : "dark");
        show();
    };
    dark.addEventListener("change", show);
    show();
    const colours = byId("board-colours");
    const paint = () => (document.documentElement.dataset.board = colours.value);
    colours.value = recall("board-colours", colours.value);
    colours.onchange = () => keep("board-colours", paint());
    paint();
}

function showHelp() {
    byId("help-dialog").showModal();
    byId("help-title").focus(); // read from its beginning, not from its first button
}

function makeHelp({ name, version }) {
    byId("version").textContent = `${name} ${version}`;
    byId("help").onclick = showHelp;
    byId("show-welcome").onclick = () => {
        byId("help-dialog").close();
        welcome();
        byId("welcome-close").focus();
    };
    byId("letter-keys").checked = hasLetterKeys();
    byId("letter-keys").onchange = (event) => keep("letter-keys", event.target.checked);
}

/** Whether keys of one character do something: not for who speaks to a browser, or holds a hand on the keys. */
const hasLetterKeys = () => recall("letter-keys", true);

/** Whether a key scrolls the box that has the focus. */
function scrolls({ key, target }) {
    const isWider = target.scrollWidth > target.clientWidth,
        isTaller = target.scrollHeight > target.clientHeight;
    const scrolled = { ArrowLeft: isWider, ArrowRight: isWider, Home: isTaller, End: isTaller };
    return target.matches("[role='region'][tabindex='0']") && scrolled[key];
}

const KEYS = {
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
    t: () => byId("theme").click(),
    "?": showHelp,
    m: () => setMode(state.mode === "game" ? "free" : "game"),
    "/": () => byId("entry-text").focus(),
    b: focusBoard,
};
const WITH_CTRL = { z: undoEdit, y: redoEdit };

function press(event) {
    const isLetter = event.key.length === 1;
    const key = isLetter && !event.shiftKey ? event.key.toLowerCase() : event.key; // with Caps Lock too
    const isCtrl = event.ctrlKey || event.metaKey;
    if (around(event, isCtrl ? "input, textarea" : "input, select, textarea, dialog")) return;
    const action = (isCtrl ? WITH_CTRL : KEYS)[key];
    if (!action || event.altKey || (!isCtrl && (scrolls(event) || (isLetter && !hasLetterKeys())))) return;
    event.preventDefault();
    action();
}

/** Take files that were dropped: games to learn from where that is open, or games to list. */
const takeDropped = guarded(async (files) => {
    if (shownTab() === "learning") await (await import("./panels/teaching.js")).addFiles(files);
    else await openGames(ofFile(files[0], files[0].name));
});

/** Let files be dropped on the page. */
function makeDrop() {
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
        const files = event.dataTransfer?.files ?? [];
        if (!files.length) return;
        event.preventDefault();
        takeDropped(files);
    });
}

/** Show what the history of the tab has here, or else what the address asks for; whether there is anything. */
async function showHere() {
    if (!history.state) return showLink(location.hash);
    await showPage(history.state);
    return true;
}

/** Show what the tab showed before, what the address or what the command line asks for. */
async function show(start) {
    const isShown = await showHere();
    if (start.file) await openGames(ofServer(start.file), isShown);
    else if (isShown) return;
    else if (start.free) await setFree(start.text);
    else if (start.text) await enter(start.text);
    else if (isFirstVisit()) welcome();
}

/** What makes the panels of the tabs: at once, or loaded when they are first opened. */
const PANELS = { terms: makeTerms, pieces: makeBars, moves: makeMoves, weights: makeWeights, games: makeGames };
const LATER = {
    compare: async () => (await import("./panels/compare.js")).makeCompare,
    player: async () => (await import("./panels/player.js")).makePlayer,
    learning: async () => (await import("./panels/teaching.js")).makeTeaching,
};

/** The place of errors: at the top in one column; in two above the board, which stays in view. */
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
    history.replaceState(history.state, "", `/${location.hash}`); // the token stays out of sight: the cookie has it
    makeErrorBox();
    makeBoard();
    makeHands();
    makeFree();
    makeVerdict();
    makeTabs(PANELS, LATER);
    makeEntry();
    makeWelcome();
    makeShare();
    makeLooks();
    const first = refresh({ silent: true });
    makeLive();
    makeAnalysis();
    const [start] = await Promise.all([get("/api/start"), loadWeights()]);
    makeControls();
    makePlay(start.levels);
    makeMoveList(start);
    makeHelp(start);
    document.addEventListener("keydown", press);
    await show(start).catch(reportError);
    await first;
    keepPages();
    makeDrop();
    window.addEventListener("popstate", guarded(showHere));
    window.addEventListener("focus", guarded(loadChangedWeights)); // the user comes back, perhaps from an editor
    listenTo(["mode", "moves"], () => {
        document.title = state.label ? `${state.label} - Merino Explorer` : "Merino Explorer";
    });
    document.documentElement.dataset.ready = "yes";
}

begin().catch(reportError);
