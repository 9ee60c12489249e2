"""Check what Merino says of moves and positions: `python -m tools.truth FILE ... --engine /usr/games/stockfish`.

A FILE is a PGN, which `merino annotate --json` annotates first, or what that, `explain --json` or `compare --json` have
printed. Each claim must hold on the board, by rules written for this check, and the engine must confirm it; where a
position is explained, also who is better, and by which move. The answers of the engine are kept, so that the next run
is quick. Without an engine only the rules are checked. What is refused is listed with the reason.
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import chess
import chess.pgn

from tools.markdown import markdown_table, with_section
from tools.truth.board import RefusedError, balance, board_after, claim_of, need
from tools.truth.engine import MAY_LOSE, MUST_LOSE, Judge, doubt, headline_doubts, loss_of, need_new
from tools.truth.rules import KINDS, headline_of, refusal

ROOT = Path(__file__).resolve().parents[2]
PAGE, KEPT = ROOT / "docs" / "explaining.md", ROOT / "build" / "truth.jsonl"
THREAT, THREATENS = "threat", re.compile(r"(?:(\S+) allows )?(\S+) (?:threatens|and the threat of) \d")
MOVE_NUMBERS = re.compile(r"\d+\.(?:\.\.)? ?")
GRADES = ("inaccuracy", "mistake", "blunder")
GRADED, BY_CP, GOOD = "grades confirmed", "grades confirmed, by centipawns", "better moves not worse"
SHARE, BEST = "expected scores of positions", "best moves of positions"
REASON, SENTENCES, NO_REASON = (
    "graded moves with a reason",
    "sentences made of claims",
    "no reason in words could be proved",
)


class Said(NamedTuple):
    """What is said of a move, or of a position: the claims, and the move in a game with its entry in the JSON.

    Of a position alone, a headline says who is better.
    """

    where: str
    claims: list[Mapping[str, Any]]
    board: chess.Board | None = None
    move: Mapping[str, Any] | None = None
    headline: str | None = None


class Found(NamedTuple):
    """One thing that was checked: its row in the table, and why it is refused."""

    row: str
    reason: str | None
    what: str = ""


def said_in(found: Mapping[str, Any]) -> Iterator[Said]:
    """What an object of the JSON says: a game of `annotate`, of which only graded moves count, or a position."""
    if "label" not in found:
        is_of_moves = found.get("search") or found.get("ending")
        headline = None if is_of_moves else found.get("verdict")
        yield Said(found["fen"], found.get("claims") or [], chess.Board(found["fen"]), headline=headline)
        return
    board = chess.Board(found["fen"])
    for move in found["moves"]:
        if move["grade"]:
            dots = "." if board.turn else "..."
            where = f"{found['label']}, {board.fullmove_number}{dots}{move['san']}"
            yield Said(where, move.get("claims") or [], board.copy(), move)
        board.push_uci(move["uci"])


def check(said: Said, judge: Judge | None) -> list[Found]:
    """All that is found of what is said of a move."""
    found = []
    for claim in said.claims:
        threat = said.move and THREATENS.match(str(claim.get("text")))
        reason = refusal(claim) or (not_threatened(claim, threat, said, judge) if threat else misplaced(claim, said))
        if judge and reason is None:
            reason = doubt(claim_of(claim), judge)
        row = THREAT if threat else str(claim.get("kind"))
        found.append(Found(row, reason, f"{claim.get('text')} [{claim.get('fen')}]"))
    if said.headline is not None and said.board is not None:
        found += of_headline(said.headline, said.board, judge)
    if said.move is None or said.board is None:
        return found
    is_proved = any(each.reason is None for each in found)
    found.append(Found(REASON, None if is_proved else NO_REASON))
    sentence = (said.move.get("mistake") or {}).get("sentence", NO_REASON)
    is_made = sentence == " and ".join(claim["text"] for claim in said.claims) or NO_REASON in sentence
    found.append(Found(SENTENCES, None if is_made else "it says more than its claims", sentence))
    moves = MOVE_NUMBERS.sub("", said.move["better"]["line"]).split()
    if judge and moves:
        played, better = chess.Move.from_uci(said.move["uci"]), said.board.parse_san(moves[0])
        loss, at = loss_of(said.board, played, better, judge), f"[{said.board.fen()}]"
        reason = f"it loses {loss.by_wdl:.1%}" if loss.by_wdl < MUST_LOSE else None
        found += [Found(row, reason, at) for row in (GRADED, said.move["grade"]["name"])]
        found.append(Found(BY_CP, None if loss.by_cp >= MUST_LOSE else f"it loses {loss.by_cp:.1%}"))
        worse = loss.of_better >= MAY_LOSE
        found.append(Found(GOOD, f"{moves[0]} loses {loss.of_better:.1%} to it" if worse else None, at))
    return found


def of_headline(text: str, board: chess.Board, judge: Judge | None) -> list[Found]:
    """What is found of who is said to be better, and by which move."""
    try:
        share, best = headline_of(text, board)
    except RefusedError as error:
        return [Found(SHARE, str(error), text)]
    reasons = headline_doubts(share, best, board, judge) if judge else (None, None)
    return [Found(row, reason, text) for row, reason in zip((SHARE, BEST), reasons, strict=True)]


def misplaced(claim: Mapping[str, Any], said: Said) -> str | None:
    """Why a claim does not belong to the move of which it is said; None if it does."""
    if said.board is None or said.move is None:
        return None
    after = board_after(said.board, chess.Move.from_uci(said.move["uci"]))
    epd = chess.Board(claim["fen"]).epd()
    if epd not in (said.board.epd(), after.epd()):
        return "it begins neither before nor after the move"
    if claim["kind"] == "tempo" and claim["line"][:1] != [said.move["uci"]]:
        return "it is about another move"
    taken = balance(after, said.board.turn) - balance(said.board, said.board.turn)
    if claim["wins"] and epd == after.epd() and claim["wins"]["pawns"] <= taken:
        return "the move itself has taken as much"
    return None


def not_threatened(claim: Mapping[str, Any], made: re.Match[str], said: Said, judge: Judge | None) -> str | None:
    """Why a claim is not what the better move threatens, or what a reply to the one played does; None if it is.

    The move takes nothing, and a pass after it leads to the position of the claim. Without it, after the other move and
    the same reply if that is legal, a pass gives away less.
    """
    assert said.board is not None and said.move is not None
    moves = MOVE_NUMBERS.sub("", said.move["better"]["line"]).split()
    own, other = chess.Move.from_uci(said.move["uci"]), said.board.parse_san(moves[0])
    reply = made[2] if made[1] else None
    own, other = (own, other) if reply else (other, own)
    before, without = said.board, board_after(said.board, other)
    try:
        need(before.san(own) == (made[1] or made[2]), f"it is {before.san(own)} that is made")
        if reply:
            before = board_after(before, own)
            own = before.parse_san(reply)
            without = board_after(without, own) if without.is_legal(own) else without
        need(not before.is_capture(own), "the move that makes the threat takes something")
        after = board_after(before, own, chess.Move.null())
        need(after.epd() == chess.Board(claim["fen"]).epd(), "a pass after the move leads elsewhere")
        if judge and without.turn != before.turn and not without.is_check():
            need_new(claim_of(claim), board_after(without, chess.Move.null()), judge)
    except (RefusedError, ValueError) as error:
        return str(error)
    return None


def wilson(true: int, of: int) -> str:
    """A share with its 95% interval."""
    z, share = 1.96, true / of
    middle, half = share + z * z / (2 * of), z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    low, high = ((middle + sign * half) / (1 + z * z / of) for sign in (-1, 1))
    return f"{share:.1%} ({low:.1%} to {high:.1%})"


def report(checked: Iterable[tuple[Said, list[Found]]], by: str) -> str:
    """The table by kind, and what was refused."""
    rows, refused = defaultdict[str, list[bool]](list), list[str]()
    for said, found in checked:
        for each in found:
            rows[each.row].append(each.reason is None)
            if each.row in (THREAT, *KINDS):
                rows["all claims"].append(each.reason is None)
            if each.reason is not None and each.row not in (REASON, BY_CP, *GRADES):
                refused.append(f"- {each.row}, {said.where}: {each.what.replace('|', '/')}: {each.reason}")
    order = [
        SHARE,
        BEST,
        GRADED,
        *GRADES,
        BY_CP,
        GOOD,
        SENTENCES,
        REASON,
        "all claims",
        *KINDS,
        THREAT,
        *sorted(rows.keys() - KINDS.keys()),
    ]
    table = [
        (row, f"{sum(rows[row])}", f"{len(rows[row])}", wilson(sum(rows[row]), len(rows[row])))
        for row in dict.fromkeys(order)
        if rows.get(row)
    ]
    parts = [by, markdown_table(("Said", "True", "Of", "Share (95%)"), table, right_aligned=(1, 2))]
    folded = (fill(line, 120, subsequent_indent="  ", break_on_hyphens=False) for line in refused)
    return "\n\n".join([*parts, *(["Refused:", "\n".join(folded)] if refused else [])])


def annotated(path: Path, games: int, jobs: int, options: list[str]) -> Iterator[dict[str, Any]]:
    """The first games of a PGN, as `merino annotate --json` annotates them in so many processes."""
    with path.open(encoding="utf-8", errors="replace") as file:
        found = list(islice(iter(lambda: chess.pgn.read_game(file), None), games))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as workers:
        parts = [Path(folder) / f"{number}.pgn" for number in range(min(jobs, len(found)))]
        for number, part in enumerate(parts):
            part.write_text("\n\n".join(str(game) for game in found[number::jobs]) + "\n", encoding="utf-8")

        def annotate(part: Path) -> str:
            command = [sys.executable, "-m", "merino", "annotate", str(part), "--json", "--quiet", *options]
            return subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True, cwd=ROOT).stdout

        for text in workers.map(annotate, parts):
            yield from map(json.loads, text.splitlines())


def main() -> int:
    """Print the table; 1 if something was refused by the rules or the engine."""
    parser = argparse.ArgumentParser(prog="python -m tools.truth", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE", type=Path, help="PGN, or JSON that Merino has printed")
    parser.add_argument(
        "--engine", metavar="PATH", help="UCI engine that confirms (default: only the rules are checked)"
    )
    parser.add_argument("--depth", type=int, default=16, help="of its searches (default: 16)")
    parser.add_argument("--games", type=int, default=20, metavar="N", help="first games of a PGN to take (default: 20)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    parser.add_argument("--kept", type=Path, default=KEPT, metavar="FILE", help="file of the engine's answers")
    parser.add_argument("--annotate", default="", metavar="OPTIONS", help="options of `merino annotate`")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.relative_to(ROOT)}")
    args = parser.parse_args()
    objects = list[dict[str, Any]]()
    for path in args.files:
        if path.suffix == ".pgn":
            objects += annotated(path, args.games, args.jobs, args.annotate.split())
        else:
            for found in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                objects += found if isinstance(found, list) else [found]
    said = [each for found in objects for each in said_in(found)]
    with Judge(args.engine, args.depth, args.kept) if args.engine else nullcontext() as judge:
        checked = list[tuple[Said, list[Found]]]()
        with ThreadPoolExecutor(args.jobs) as workers:
            for each, found in zip(said, workers.map(lambda each: check(each, judge), said), strict=True):
                checked.append((each, found))
                if sys.stderr.isatty():
                    print(f"\r{len(checked)} of {len(said)}", end="", file=sys.stderr)
        name = f"{judge.name} at depth {args.depth}" if judge else "no engine"
    by = f"{len(objects)} games or positions, {name}."
    text = report(checked, by)
    print(text)
    if args.write:
        PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), "truth", text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
