"""`merino account`: the weights of the terms that come nearest to a net."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from merino.app.console import shared
from merino.core.common.command import CommandError, UsageError
from merino.core.common.text import in_one_line
from merino.eval.families import find_net, load_net
from merino.eval.net.family import NetEvaluation
from merino.formats.packed import unpack
from merino.formats.packed_files import all_positions
from merino.formats.sources import LeftOut
from merino.study import accounts

MAX_POSITIONS = 200_000  # that an account is fitted to, evenly from a file


def run_account(arguments: Sequence[str]) -> int:
    """The command in a shell; raises CommandError, EvaluationError, PackedError, SourceError and StudyError."""
    parser = shared.Parser(
        prog="merino account",
        description="Show the weights of the terms that come nearest to a net, what share of its scores they explain, "
        "and where they fail; or fit them to positions.",
        examples=("merino account gen12", "merino account my.net --positions games.bin --out my.account.json"),
    )
    parser.add_argument("net", metavar="NET", help="a net, or the name of one in weights/")
    sentence = f"fit the account to up to {MAX_POSITIONS} positions of this file (default: show that of the net)"
    parser.add_argument("--positions", type=shared.file_path, metavar="FILE", help=sentence)
    sentence = f"write it to this file; 'explain' finds it next to the net if its name ends with {accounts.ENDING}"
    parser.add_argument("--out", type=shared.file_path, metavar="FILE", help=sentence)
    shared.add_json(parser)
    args = parser.parse_args(arguments)
    if args.out and not args.positions:
        raise UsageError("--out needs --positions, to which the account is fitted")
    if args.out:
        shared.check_output(args.out, "account")
        shared.check_apart([args.out], [args.positions, find_net(args.net)], "account")
    net = load_net(args.net)
    assert isinstance(net, NetEvaluation)
    if args.positions:
        records = all_positions(args.positions, left_out := LeftOut())
        for line in left_out.lines():
            print(line, file=sys.stderr)
        step = -(-len(records) // MAX_POSITIONS)
        account = accounts.whole_account(net, unpack(records[::step]), args.positions.name)
    elif (found := accounts.account_for(net)) is not None:
        account = found
    else:
        raise CommandError(f"'{args.net}' has no account yet: fit one with --positions FILE --out FILE")
    if args.out:
        shared.write_output(args.out, accounts.content_of(account), "account")
    print(json.dumps(asdict(account)) if args.json else "\n".join(map(in_one_line, _account_rows(account))))
    return 0


def _account_rows(account: accounts.WholeAccount) -> Iterator[str]:
    yield f"{account.name} in the terms, from positions of {account.source}"
    yield from ("", f"{'term':<24}{'middlegame':>11}{'endgame':>9}")
    for name, (middlegame, endgame) in {**account.weights, "(side to move)": (account.to_move,) * 2}.items():
        yield f"{name:<24}{round(middlegame):11}{round(endgame):9}"
    yield from ("", f"{'positions kept apart':<26}{'number':>8}{'R2':>7}{'mean error, cp':>16}")
    for name, share in {"all": account.all, **account.kinds}.items():
        yield f"{name:<26}{share.positions:8}{share.r2:7.2f}{share.mean_error_cp:16.0f}"
