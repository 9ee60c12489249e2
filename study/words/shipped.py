"""The account of a whole net: a small file that comes with it, or lies beside it, and is made by a command.

It holds the weights of the terms, in two phases, that come nearest to the net's scores over many positions, what share
of the scores they tell, and where they fail.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from merino.inner.core.board.bitboard import QUEEN
from merino.inner.core.common.user_files import SETTINGS, faults_named, read_user_file
from merino.inner.eval.evaluation import Evaluation
from merino.inner.eval.linear.evaluate import NUMBER_OF_TERMS, stages_of
from merino.inner.eval.linear.phases import halves
from merino.inner.eval.linear.registry import TERMS
from merino.inner.eval.linear.weights import SHIPPED
from merino.inner.eval.material import FULL_BOARD
from merino.inner.eval.net.family import NetEvaluation
from merino.inner.eval.net.file import digest
from merino.inner.study.errors import StudyError
from merino.inner.study.words.account import account_of, columns_of, told

ENDING = ".account.json"  # of the file beside X.net
VERSION = 1
MAX_SCORE = 1000.0  # centipawns; what is decided is left out
HELD_OUT = 10  # one position of so many is kept for the R2
MIN_POSITIONS = 1000
MAX_NUMBER = 1e9  # of a file, far beyond any useful one


@dataclass(frozen=True)
class Share:
    """What an account tells of the scores of a kind of positions: R2, and the mean difference in centipawns."""

    positions: int
    r2: float
    mean_error_cp: float


@dataclass(frozen=True)
class WholeAccount:
    """The account of a net over many positions; `weights` by term, for middlegame and endgame.

    `net` is its digest. The shares are those of positions that were kept out of the fit: all, and by `kinds`.
    """

    version: int
    net: str
    name: str
    source: str
    weights: Mapping[str, tuple[float, float]]
    to_move: float
    constant: float
    all: Share
    kinds: Mapping[str, Share]

    def vector(self) -> np.ndarray:
        """The weights, float64[2 * terms], 0 for a term that it does not name."""
        pairs = [self.weights.get(term.name, (0.0, 0.0)) for term in TERMS]
        return np.array(pairs, dtype=np.float64).T.ravel()


def whole_account(evaluation: NetEvaluation, positions: np.ndarray, source: str) -> WholeAccount:
    """The account over POSITION[n], in random order or that of games; `source` says where they are from.

    Raises StudyError for too few positions.
    """
    scores = evaluation.white_scores(positions)
    positions, scores = positions[np.abs(scores) <= MAX_SCORE], scores[np.abs(scores) <= MAX_SCORE]
    if len(positions) < MIN_POSITIONS:
        raise StudyError(f"an account needs {MIN_POSITIONS} positions that are not decided, not {len(positions)}")
    kept = np.arange(len(positions)) % HELD_OUT == 0
    columns = columns_of(positions)
    account = account_of(columns[~kept], scores[~kept])
    found = columns[kept] @ np.concatenate([account.weights, [account.to_move, account.constant]])
    middlegame, endgame = halves(account.weights, NUMBER_OF_TERMS)
    return WholeAccount(
        VERSION,
        digest(evaluation.network),
        Path(evaluation.name).stem,
        source,
        {term.name: (round(a, 2), round(b, 2)) for term, a, b in zip(TERMS, middlegame, endgame, strict=True)},
        round(account.to_move, 2),
        round(account.constant, 2),
        _share(scores[kept], found),
        {name: _share(scores[kept][which], found[which]) for name, which in _kinds(positions[kept]) if which.any()},
    )


def _share(scores: np.ndarray, found: np.ndarray) -> Share:
    return Share(len(scores), round(told(scores, found), 4), round(float(np.abs(scores - found).mean()), 1))


def _kinds(positions: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Kinds of positions by what is on the board, boolean[n] each."""
    stages, queens = stages_of(positions), positions["pieces"][:, QUEEN] != 0
    yield "pawns only", stages == 0
    yield "endgame without queens", (stages > 0) & (2 * stages <= FULL_BOARD) & ~queens
    yield "endgame with queens", (2 * stages <= FULL_BOARD) & queens
    yield "middlegame without queens", (2 * stages > FULL_BOARD) & ~queens
    yield "middlegame with queens", (2 * stages > FULL_BOARD) & queens


def content_of(account: WholeAccount) -> bytes:
    """The content of its file."""
    return (json.dumps(asdict(account), indent=1) + "\n").encode()


def load_account(path: Path) -> WholeAccount:
    """The account in a file; raises StudyError."""
    with faults_named(path, "the account of a net", StudyError):
        found = _account_in(json.loads(read_user_file(path, SETTINGS)))
    if found.version != VERSION:
        raise StudyError(f"'{path}' is an account of version {found.version}, not {VERSION}")
    return found


def _account_in(fields: dict[str, Any]) -> WholeAccount:
    """The account in JSON data; raises one of the errors that `load_account` tells."""
    return WholeAccount(
        version=fields["version"],
        weights={name: (_number(pair[0]), _number(pair[1])) for name, pair in fields["weights"].items()},
        to_move=_number(fields["to_move"]),
        constant=_number(fields["constant"]),
        all=_share_in(fields["all"]),
        kinds={name: _share_in(share) for name, share in fields["kinds"].items()},
        **{name: _text(fields[name]) for name in ("net", "name", "source")},
    )


def _share_in(fields: dict[str, Any]) -> Share:
    return Share(int(_number(fields["positions"])), _number(fields["r2"]), _number(fields["mean_error_cp"]))


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_NUMBER:
        raise ValueError(f"{value!r:.40} is no number within {MAX_NUMBER:g}")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.40} is no text")
    return value


@cache
def _accounts_in(folders: Sequence[Path]) -> Mapping[str, WholeAccount]:
    """The accounts that lie in some folders, by the digest of their net."""
    paths = [path for folder in folders for path in sorted(folder.glob(f"*{ENDING}"))]
    return {account.net: account for account in map(load_account, paths)}


def account_for(evaluation: Evaluation) -> WholeAccount | None:
    """The account that comes with a net or lies beside it; None if there is none, or for another evaluation."""
    if not isinstance(evaluation, NetEvaluation):
        return None
    return _accounts_in((SHIPPED, Path(evaluation.name).absolute().parent)).get(digest(evaluation.network))


def start_of(evaluation: Evaluation) -> np.ndarray | None:
    """The weights from which the account around a position starts, float64[2 * terms]; None for none."""
    account = account_for(evaluation)
    return None if account is None else account.vector()
