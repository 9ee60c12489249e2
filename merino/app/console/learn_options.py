"""The command line of `learn`, in a shell and at the console."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, as_read_by, natural, number_or, positive, whole
from merino.core.common.command import UsageError
from merino.core.common.errors import number_of
from merino.core.common.text import did_you_mean
from merino.eval.evaluation import EvaluationError
from merino.eval.linear.registry import TERMS, TermSet
from merino.eval.linear.weights import active_file, set_of
from merino.learn.minimisers import METHODS
from merino.learn.positions import Equal, Quiet, Selection
from merino.learn.request import (
    DEFAULT_CHOICE,
    DEFAULT_SELECTION,
    DEFAULT_SETTINGS,
    DEFAULT_TEACHER,
    FEW_OF_A_GAME,
    NO_CHOICE,
    NO_TEACHER,
    LearnRequest,
)
from merino.learn.sample import Loss
from merino.learn.settings import ARTICLE, MIN_DECAY, MIN_K, MIN_SAMPLES, Settings
from merino.learn.targets import BLEND, RESULT, SEARCH, Target

ARTICLE_PRESET = "greko2015"
PRESETS = {ARTICLE_PRESET: ARTICLE}
OLD_POSITIONS = {"any": Quiet.ANY, "only": Quiet.ONLY, "resolved": Quiet.RESOLVED}  # once the values of --quiet
FIT = "fit"  # title of a group
PLAY = "match of new against old weights"  # title of a group
LEARNED_FROM = "positions to learn from"  # title of a group
ALL_OF_A_GAME = "all"


@dataclass(frozen=True)
class LearnArguments:
    """A `learn` command as read: what to learn, or a weights file to put in use, and what to print."""

    request: LearnRequest
    use: str | None = None  # a weights file to put in use, instead of learning
    as_json: bool = False
    as_csv: bool = False
    is_quiet: bool = False

    @property
    def is_for_machines(self) -> bool:
        """Whether standard output carries JSON or CSV only."""
        return self.as_json or self.as_csv


def read_arguments(arguments: Sequence[str], command: str = "merino learn", start: str | None = None) -> LearnArguments:
    """Read what follows `command`, for the weights `start` or those in use; raises UsageError, SystemExit after -h."""
    parser = learn_parser(command)
    args = parser.parse_intermixed_args(_without_old_quiet(arguments))
    files = [word for word in args.words if not _is_number(word)] if args.words else []
    numbers = [number_of(word) for word in args.words if _is_number(word)]
    if args.use is not None:
        nothing = vars(parser.parse_intermixed_args([]))
        given = {name for name, value in vars(args).items() if name not in nothing or value != nothing[name]}
        if given - {"use", "weights", "quiet"}:
            parser.error("--use FILE learns nothing and goes with --weights only")
        return LearnArguments(LearnRequest((), weights=args.weights), args.use, is_quiet=args.quiet)
    if not files:
        parser.error("missing: FILE")
    if len(numbers) not in (0, 2):
        parser.error("give the first and the last term, or neither")
    if numbers and args.terms is not None:
        parser.error("give the terms once, as FIRST LAST or by --terms")
    if args.json and args.table == "-":
        parser.error("--json and --table - both write to standard output; give --table a file")
    if args.rescore is not None and not _request(args, files, {}).needs_scores:
        parser.error("--rescore makes scores, but --target result uses none; give another --target")
    if args.ratings:
        _check_ratings(args, parser)
    if args.prove and args.no_match:
        parser.error("--prove needs the match that --no-match leaves out; give only one of them")
    chosen = dict[str, object]()
    if numbers:
        chosen = _between(set_in_use(args.weights or start, "learn"), *numbers)
    elif args.terms is not None:
        chosen = chosen_terms(args.terms, set_in_use(args.weights or start, "learn"), parser)
    return LearnArguments(_request(args, files, chosen), None, args.json, args.table == "-", args.quiet)


def _check_ratings(args: argparse.Namespace, parser: Parser) -> None:
    """End in an error of the parser where ratings cannot count."""
    settings = _base(args).settings
    if (args.method or settings.method) == "descent":
        parser.error("--ratings cannot go with --method descent, which --preset greko2015 asks for too")
    if settings.target.share == 0:
        parser.error("--ratings is for results, but here scores teach; add --teacher off, or --target blend=0.5")


def _request(args: argparse.Namespace, files: Sequence[str], terms: Mapping[str, Any]) -> LearnRequest:
    """What is to be learned; `terms` are the settings that say which terms are fitted."""
    base = _base(args)
    settings = replace(base.settings, **_changes(args), **terms)
    return replace(
        base,
        files=tuple(files),
        settings=settings,
        selection=_selection(args, base.selection),
        choice=replace(base.choice, pulls=()) if "prior" in args else base.choice,
        rescore=args.rescore,
        weights=args.weights,
        out=args.out,
        dry_run=args.dry_run,
        csv=None if args.table == "-" else args.table,
        record=args.record,
        keep_fen=not args.no_cache,
        plays_match=not args.no_match,
        prove=args.prove,
        concurrency=args.concurrency,
    )


def _changes(args: argparse.Namespace) -> dict[str, Any]:
    """The settings that are asked for."""
    asked = {
        "method": args.method,
        "loss": args.loss and Loss(args.loss),
        "seed": args.seed,
        "resamplings": args.bootstrap,
        "split_by_position": args.split and args.split == "position",
        "phases": args.phases,
        "even_stages": args.even_stages,
        "ratings": args.ratings,
        "drop": args.drop,
    }
    changes = {name: value for name, value in asked.items() if value is not None}
    return changes | {name: vars(args)[name] for name in ("decay", "k", "prior") if name in args}


def _selection(args: argparse.Namespace, usual: Selection) -> Selection:
    """The positions that are asked for, as `usual` where nothing is said."""
    return Selection(
        args.skip_first,
        args.skip_last,
        args.skip_decided,
        Quiet(args.positions) if args.positions else usual.quiet,
        args.dedup,
        None if args.per_game == ALL_OF_A_GAME else args.per_game or usual.per_game,
        usual.strays and not args.no_strays,
    )


def _base(args: argparse.Namespace) -> LearnRequest:
    """What the options begin with: the settings of a preset, or those of the plain command; and who teaches.

    A target that is named is the only one. Without a teacher the plain command
    learns from results alone.
    """
    base = LearnRequest(())
    if args.preset:
        base = LearnRequest((), PRESETS[args.preset], Selection(), NO_CHOICE, teacher=None)
    settings, usual, choice = base.settings, base.teacher, base.choice
    target = args.target
    if target is not None:
        settings, choice, usual = replace(settings, target=target), replace(choice, targets=()), None
    elif args.teacher == NO_TEACHER:
        settings, choice = replace(settings, target=Target(1.0)), replace(choice, targets=())
    elif args.preset and args.teacher:
        settings = replace(settings, target=Target(0.0))
    teacher = usual if args.teacher is None else args.teacher
    selection = base.selection
    if not args.preset and (args.rescore is not None or teacher in (None, NO_TEACHER)):
        selection = replace(selection, per_game=FEW_OF_A_GAME)
    return LearnRequest((), settings, selection, choice, None if teacher == NO_TEACHER else teacher)


def learn_parser(command: str = "merino learn") -> Parser:
    """The parser of `learn`."""
    parser = Parser(
        prog=command,
        usage=f"{command} FILE... [FIRST LAST] [options]\n       {command} --use FILE [--weights FILE]",
        description="Learn the weights of the evaluation from games, validate them on other games, and put them in "
        "use if a match shows that they gain.",
        notes="FILE is a PGN, plain or compressed ('-' for standard input), a file of labelled positions (.epd, .fen), "
        f"or the .fen cache of an earlier run. Of the terms of the weights, {len(TERMS)} by default, FIRST to LAST are "
        "fitted; by default all. "
        f"'merino weights' lists them. Without options the net {DEFAULT_TEACHER} teaches, and short matches find how "
        "far to go from the old weights to the new, and whether results help; with --no-match or --out all the way.",
        examples=(
            "merino learn games.pgn",
            "merino learn games.pgn --terms 6-27 --weights my-weights.txt --no-match",
            "merino learn *.pgn.zst --prove",
            "merino learn selfplay.pgn --target blend=0.5",
            "merino learn games.pgn --rescore 1000 --teacher gen12",
        ),
    )
    parser.add_argument("words", nargs="*", metavar="FILE", help=argparse.SUPPRESS)
    _add_fit(parser)
    _add_positions(parser)
    add = parser.group(PLAY).add_argument
    add("--no-match", action="store_true", help="use the new weights at once, without a match")
    sentence = "use the new weights only if a match of an hour or two proves them stronger"
    add("--prove", action="store_true", help=sentence)
    shared.add_concurrency(parser, "games of the match")
    _add_files(parser)
    return parser


def _add_files(parser: Parser) -> None:
    add = parser.group(shared.EVALUATION).add_argument
    add("--weights", metavar="FILE", help="start from this file and replace it (default: the weights in use)")
    add("--out", metavar="FILE", help="write the new weights to this file instead")
    add("--dry-run", action="store_true", help="write nothing but files named here and the scores of --rescore")
    add("--use", metavar="FILE", help="learn nothing: put these weights in use, or in place of --weights")
    shared.add_json(parser, "print the report as one JSON object")
    add = parser.group(shared.OUTPUT).add_argument
    table = add("--table", metavar="FILE", help="write weights and intervals as CSV; - for standard output")
    parser.also_accept("--csv", table)
    add("--record", metavar="FILE", help="record for 'merino plot' (default: learning.json beside the weights)")
    cache = add("--no-cache", action="store_true", help="do not write a .fen cache of the positions beside the games")
    parser.also_accept("--no-fen", cache)
    shared.add_quiet(parser)


def add_what_to_fit(parser: Parser, some: str, phases: str, predicted: str) -> None:
    """--terms, --phases and --target; `some` says which terms, the others are the defaults in words."""
    add = parser.group(FIT).add_argument
    add("--terms", metavar="LIST", help=f"terms to fit{some}")
    sentence = f"values of each weight: 1, or 2 for middlegame and endgame (default: {phases})"
    add("--phases", type=int, choices=(1, 2), help=sentence)
    sentence = (
        "what to predict: the result of the game, the score of a search, or X times the result and 1-X times the score"
    )
    form = f"{RESULT}|{SEARCH}|{BLEND}=X"
    add("--target", type=as_read_by(Target.read), metavar=form, help=f"{sentence} (default: {predicted})")


def _add_fit(parser: Parser) -> None:
    add = parser.group(FIT).add_argument
    usual, *compared = [each.name for each in LearnRequest(()).targets]
    others = " and ".join(each.name for each in DEFAULT_CHOICE.targets)
    tried = f"matches also try {' and '.join(compared)} where the players' strength is known, and {others}"
    predicted = f"{usual}; {tried} with --no-strays or --rescore"
    add_what_to_fit(parser, ": 6-27, or names separated by commas", str(DEFAULT_SETTINGS.phases), predicted)
    sentence = (
        "net whose scores teach: static ones, or with --rescore those of its search; off for results only "
        f"(default: {DEFAULT_TEACHER}; with --target the scores in the files)"
    )
    teacher = add("--teacher", metavar="NET|off", help=sentence)
    parser.also_accept("--evalfile", teacher)
    add("--method", choices=list(METHODS), help=f"optimiser; all reach the same weights (default: {Settings.method})")
    add("--loss", choices=list(map(str, Loss)), help=f"error to minimise (default: {Settings.loss})")
    plies, weight = number_or("off", MIN_DECAY), "a position n plies before the end of its game weighs e^(-n/PLIES)"
    decay = add("--decay", type=plies, default=argparse.SUPPRESS, metavar="PLIES|off", help=f"{weight} (default: off)")
    parser.also_accept("--lambda", decay)
    sentence = "scale: a score of s centipawns predicts 1 / (1 + e^(-s/K)) (default: fit)"
    add("--k", type=number_or("fit", MIN_K), default=argparse.SUPPRESS, metavar="K|fit", help=sentence)
    sentence = (
        "pull toward the old weights: standard deviation relative to their size (default: by the number of games, and "
        "by how well other games are predicted)"
    )
    add("--prior", type=_prior, default=argparse.SUPPRESS, metavar="N|off", help=sentence)
    sentence = (
        "take the players' strength into account where results teach: what their ratings promise, or without these "
        "their results in other games, is not put down to the position; reads the games anew"
    )
    add("--ratings", action="store_true", help=sentence)
    sentence = "set terms to 0 that mean nothing to the games, fit the others again, and list them"
    add("--drop", action="store_true", help=sentence)
    add("--bootstrap", type=whole(MIN_SAMPLES), metavar="N", help="confidence intervals from N fits to resampled games")
    sentence = "validate on a fifth of the games or of the positions (default: game)"
    add("--split", choices=("game", "position"), help=sentence)
    add("--seed", type=natural, metavar="N", help=f"seed of that split (default: {Settings.seed})")
    sentence = "all settings as in GreKo 2015 ML: one phase, descent, K 150, decay 20, split by position, all positions"
    preset = add("--preset", choices=list(PRESETS), help=sentence)
    parser.also_accept_form("--article", preset, action="store_const", const=ARTICLE_PRESET)


def add_position_choice(parser: Parser, usual: Selection | None) -> None:
    """The options that choose positions; `usual` is what counts where they are not given, None for all positions."""
    add = parser.group(LEARNED_FROM).add_argument
    sentence = "positions where a capture changes the score: keep them, drop them, or resolve them by quiescence search"
    shown = usual or Selection()
    add("--positions", choices=list(map(str, Quiet)), help=f"{sentence} (default: {shown.quiet})")
    sentence = "use at most N positions of a game"
    if usual is None:
        add("--per-game", type=positive, metavar="N", help=sentence)
    else:
        default = f"{usual.per_game}, {FEW_OF_A_GAME} where results or searches teach"
        sentence = f"{sentence}; {ALL_OF_A_GAME} for no limit (default: {default})"
        add("--per-game", type=_per_game, metavar="N", help=sentence)


def _add_positions(parser: Parser) -> None:
    add_position_choice(parser, usual=DEFAULT_SELECTION)
    add = parser.group(LEARNED_FROM).add_argument
    sentence = "leave out the positions that a random move makes of those of the games, which only a teacher can score"
    add("--no-strays", action="store_true", help=sentence)
    unique = add("--dedup", action="store_const", const=Equal.POSITION, help="use equal positions once")
    parser.also_accept("--unique", unique)
    sentence = "use near-duplicates once: positions whose terms and stage of the game are all equal"
    add("--dedup-terms", dest="dedup", action="store_const", const=Equal.TERMS, help=sentence)
    sentence = "get scores by searching each position; kept beside the games (default: those of the teacher)"
    add("--rescore", type=positive, metavar="NODES", help=sentence)
    sentence = "give every stage of the game, by the pieces left, the same total weight"
    add("--even-stages", action="store_true", help=sentence)
    add("--skip-first", type=natural, default=0, metavar="N", help="skip the first N plies of each game")
    add("--skip-last", type=natural, default=0, metavar="N", help="skip the last N plies of each game")
    sentence = "skip the end of a game, from where its score stays above CP centipawns"
    add("--skip-decided", type=natural, metavar="CP", help=sentence)


def _prior(text: str) -> float:
    """A type: the pull toward the old weights, 0 for off."""
    return number_or("off", 0.001)(text) or 0.0


def _per_game(text: str) -> int | str:
    """A type: a number of positions, or the word for all of them."""
    return text if text == ALL_OF_A_GAME else positive(text)


def _without_old_quiet(arguments: Sequence[str]) -> list[str]:
    """The arguments with `--quiet any`, `only` or `resolved` as --positions, which it was before it meant silence."""
    words: list[str] = []
    for word in arguments:
        if words[-1:] == ["--quiet"] and word in OLD_POSITIONS:
            words[-1:] = ["--positions", str(OLD_POSITIONS[word])]
        else:
            words.append(word)
    return words


def _is_number(word: str) -> bool:
    return word.lstrip("-").isdecimal()


def set_in_use(weights: str | None, command: str) -> TermSet:
    """The set of the weights to start from, None for those in use; raises UsageError, which names the command."""
    try:
        return set_of(active_file(weights))
    except EvaluationError as error:
        raise UsageError(f"{command}: {error}") from error


def _between(terms: TermSet, first: int, last: int) -> dict[str, object]:
    """The settings that fit the terms first..last of a set; raises UsageError."""
    if not 1 <= first <= last <= len(terms):
        raise UsageError(f"learn: terms are numbered 1 to {len(terms)}, the first before the last; not {first} {last}")
    return {"first": first, "last": last}


def chosen_terms(text: str, terms: TermSet, parser: Parser) -> dict[str, object]:
    """The settings that fit the terms of a list: a range, or names and ranges separated by commas.

    The name of a table stands for all its cells. A term that the set lacks ends in an error of the parser.
    """
    known = [term.name for term in terms]
    tables = {each.name: known[at] for each, at in terms.to_read()}
    named = {name.lower(): [name] for name in known} | {name.lower(): cells for name, cells in tables.items()}
    chosen: list[str] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if first.isdecimal() and (last.isdecimal() or not dash):
            low, high = number_of(first), number_of(last or first)
            if not 1 <= low <= high <= len(known):
                parser.error(f"argument --terms: terms are numbered 1 to {len(known)}; there is no '{part[:40]}'")
            if part == text:
                return {"first": low, "last": high}
            chosen += known[low - 1 : high]
        elif part.lower() in named:
            chosen += named[part.lower()]
        else:
            hint = did_you_mean(part, [*tables, *known])
            parser.error(f"argument --terms: there is no term '{part[:40]}'{hint}")
    return {"names": tuple(name for name in known if name in chosen)}


def is_standard_input(args: LearnArguments) -> bool:
    """Whether games are to be read from standard input."""
    return str(Path("-")) in args.request.files
