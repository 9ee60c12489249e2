"""`merino account`: the weights of the terms that come nearest to a net."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from merino.app.console import shared_options as shared
from merino.app.console.command_line import Parser, file_path
from merino.app.shell.shared import check_apart, check_output, write_output
from merino.core.common.command import CommandError, UsageError, errors_named
from merino.core.common.text import in_one_line
from merino.eval.evaluation import EvaluationError
from merino.eval.families import find_net, load_net
from merino.eval.net.family import NetEvaluation
from merino.formats.packed import PackedError, unpack
from merino.formats.packed_files import all_positions
from merino.formats.sources import SourceError
from merino.study.accounts import ENDING, WholeAccount, account_for, content_of, whole_account
from merino.study.errors import StudyError

MAX_POSITIONS = 200_000  # that an account is fitted to, evenly from a file


def run_account(arguments: Sequence[str]) -> int:
    """The command in a shell; raises CommandError."""
    parser = Parser(
        prog="merino account",
        description="Show the weights of the terms that come nearest to a net, what share of its scores they explain, "
        "and where they fail; or fit them to positions.",
        examples=("merino account gen12", "merino account my.net --positions games.bin --out my.account.json"),
    )
    parser.add_argument("net", metavar="NET", help="a net, or the name of one in weights/")
    sentence = f"fit the account to up to {MAX_POSITIONS} positions of this file (default: show that of the net)"
    parser.add_argument("--positions", type=file_path, metavar="FILE", help=sentence)
    sentence = f"write it to this file; 'explain' finds it next to the net if its name ends with {ENDING}"
    parser.add_argument("--out", type=file_path, metavar="FILE", help=sentence)
    shared.add_json(parser)
    args = parser.parse_args(arguments)
    if args.out and not args.positions:
        raise UsageError("account: --out needs --positions, to which the account is fitted")
    with errors_named("account", EvaluationError, PackedError, SourceError, StudyError):
        if args.out:
            check_output(args.out, "account")
            check_apart([args.out], [args.positions, find_net(args.net)], "account")
        net = load_net(args.net)
        assert isinstance(net, NetEvaluation)
        account = account_for(net) if args.positions is None else _fitted(net, args.positions)
    if account is None:
        raise CommandError(f"account: '{args.net}' has no account yet: fit one with --positions FILE --out FILE")
    if args.out:
        write_output(args.out, content_of(account), "account")
    print(json.dumps(asdict(account)) if args.json else "\n".join(map(in_one_line, _account_rows(account))))
    return 0


def _fitted(net: NetEvaluation, path: Path) -> WholeAccount:
    records = all_positions(path)
    step = -(-len(records) // MAX_POSITIONS)
    return whole_account(net, unpack(records[::step]), path.name)


def _account_rows(account: WholeAccount) -> Iterator[str]:
    yield f"{account.name} in the terms, from positions of {account.source}"
    yield from ("", f"{'term':<24}{'middlegame':>11}{'endgame':>9}")
    for name, (middlegame, endgame) in account.weights.items():
        yield f"{name:<24}{round(middlegame):11}{round(endgame):9}"
    yield f"{'(side to move)':<24}{round(account.to_move):11}{round(account.to_move):9}"
    yield from ("", f"{'positions kept apart':<26}{'number':>8}{'R2':>7}{'mean error, cp':>16}")
    for name, share in {"all": account.all, **account.kinds}.items():
        yield f"{name:<26}{share.positions:8}{share.r2:7.2f}{share.mean_error_cp:16.0f}"
