"""The account of an evaluation by the terms: the weights of the terms that come nearest to its scores, and words of it.

Around a position they are fitted to its neighbours, which moves and small changes make of it, by ridge regression: the
prior means are those of the account of the whole evaluation, where there is one, else zero, and how tight they are
follows from the residuals, so that scores that the terms explain completely give back their weights.

The account of a whole net is a small file that comes with it or lies next to it: the weights, in two phases, that come
nearest to the net's scores over many positions, what share of the scores they explain, and where they fail.

The rest of a score is what the account does not explain. A piece's part of it is what goes when the piece is taken off
the board. These parts need not add up: two pieces may make up the same part together. All scores are those before the
draw rules, which are the same for every evaluation and stated by themselves.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path

import chess
import numpy as np

from merino.core.board import fen, makemove, movegen
from merino.core.board.bitboard import BLACK_PIECE, EMPTY, KING, QUEEN, SQUARE_NAMES, WHITE, ZERO
from merino.core.board.position import POSITION
from merino.core.common import errors, files
from merino.core.compiled import memory
from merino.core.compiled.jit import entry
from merino.engine.report import phrases, schema
from merino.eval import explanation, material
from merino.eval.evaluation import Evaluation
from merino.eval.linear import compiled, family, phases, registry
from merino.eval.linear.weights import SHIPPED
from merino.eval.net.family import NetEvaluation
from merino.eval.net.file import digest
from merino.study.errors import StudyError
from merino.study.shapley import Coalitions

LEEWAY = 15.0  # centipawns that a weight may depart from its starting value without much ado
MAX_NEIGHBOURS = 4096  # by moves
_ROUNDS = 4  # of finding out how much the account leaves over
_MIN_RIDGE = 1e-6  # keeps weights that nothing determines at their prior means
ENDING = ".account.json"  # of the file next to X.net
VERSION = 1
MAX_SCORE = 1000.0  # centipawns; what is decided is left out
HELD_OUT = 10  # one position of so many is kept for the R2
MIN_POSITIONS = 1000
MAX_NUMBER = 1e9  # of a file, far beyond any useful one


@dataclass(frozen=True)
class Account:
    """Weights of two phases, float64[2 * terms], that come nearest to White's scores before the draw rules.

    `to_move` is for the side to move and `constant` for White, in centipawns; `r2` is the share of the variation of
    the scores that they explain, up to 1: of each position by what the account of all others says of it.
    """

    weights: np.ndarray
    to_move: float
    constant: float
    r2: float

    def evaluation(self, k: float, name: str) -> family.LinearEvaluation:
        """The terms under these weights."""
        return family.LinearEvaluation(self.weights, k, name)


def columns_of(positions: np.ndarray) -> np.ndarray:
    """What the numbers of an account are multiplied with in POSITION[n]: float64[n, 2 * terms + 2].

    The features of middlegame and endgame, then the side to move, 1 for White and -1 for Black, and 1.
    """
    features, share = compiled.features_of(positions), compiled.stages_of(positions)[:, None] / material.FULL_BOARD
    turn = np.where(positions["side"] == WHITE, 1.0, -1.0)[:, None]
    return np.concatenate([features * share, features * (1 - share), turn, np.ones_like(turn)], axis=1)


def account_of(
    columns: np.ndarray, scores: np.ndarray, start: np.ndarray | None = None, judged: int | None = None
) -> Account:
    """The account of White's scores, float64[n], of positions with these columns; `start` is float64[2 * terms].

    Its R2 is that of the first `judged` positions, by default of all.
    """
    prior = np.zeros(columns.shape[1])
    if start is not None:
        prior[: len(start)] = start
    squares, target = columns.T @ columns, columns.T @ (scores - columns @ prior)
    steady = np.ones(len(prior))
    steady[2 * compiled.NUMBER_OF_TERMS :] = 0.0  # the constants are free
    variance = 0.0
    for _ in range(_ROUNDS):
        tied = squares + np.diag(variance / LEEWAY**2 * steady + _MIN_RIDGE)
        numbers = prior + np.linalg.solve(tied, target)
        variance = float(np.mean((scores - columns @ numbers) ** 2))
    # What the account without a position says of it: what it asks for itself, its leverage, is taken out.
    asked, known = columns[:judged], scores[:judged]
    leverage = np.einsum("ij,ji->i", asked, np.linalg.solve(tied, asked.T))
    by_others = known - (known - asked @ numbers) / np.maximum(1 - leverage, _MIN_RIDGE)
    return Account(
        numbers[: 2 * compiled.NUMBER_OF_TERMS], float(numbers[-2]), float(numbers[-1]), r2_of(known, by_others)
    )


def r2_of(scores: np.ndarray, found: np.ndarray) -> float:
    """R2: the share of the variation of `scores` that `found` explains; 1 where there is none."""
    variation = float(((scores - scores.mean()) ** 2).sum())
    return 1 - float(((scores - found) ** 2).sum()) / variation if variation else 1.0


def account_around(record: np.ndarray, evaluation: Evaluation, start: np.ndarray | None = None) -> Account:
    """The account around the legal POSITION[1]; its R2 is that of the neighbours by moves, 0 for a mate without any."""
    by_moves, by_removal = neighbours(record), without_pieces(record)
    columns, scores = (
        np.concatenate([part(by_moves), part(by_removal)]) for part in (columns_of, evaluation.white_scores)
    )
    found = account_of(columns, scores, start, len(by_moves))
    return found if len(by_moves) > 1 else replace(found, r2=0.0)


@entry
def _fill_neighbours(positions, moves, found):
    """Fill POSITION[n] with a legal position, those one ply and two plies on, and those one ply after a null move."""
    position = positions[0]
    memory.copy_record(found[0], position)
    ahead = movegen.make_each(position, moves, found, 1)
    count = ahead
    if position.checkers == ZERO:
        makemove.make_null(found[count], position)
        count = movegen.make_each(found[count], moves, found, count + 1)
    for index in range(1, ahead):
        count = movegen.make_each(found[index], moves, found, count)
    return count


def neighbours(record: np.ndarray) -> np.ndarray:
    """The legal POSITION[1] itself, first, and what up to two plies make of it, for both sides: POSITION[n]."""
    found = np.empty(MAX_NEIGHBOURS, dtype=POSITION)
    return found[: _fill_neighbours(record, np.zeros(movegen.MAX_MOVES, dtype=np.int32), found)]


def without_pieces(record: np.ndarray) -> np.ndarray:
    """POSITION[1] without each single piece, and without each pair: POSITION[n]; see `Coalitions` for kings."""
    game = Coalitions(record, lambda positions: np.zeros(len(positions)))
    squares = game.sets_of(np.arange(len(game.squares)))
    first, second = np.triu_indices(len(squares))
    return game.positions(squares.sum(dtype=np.uint64) & ~(squares[first] | squares[second]))


@dataclass(frozen=True)
class Share:
    """What an account explains of the scores of a kind of positions: R2, and the mean difference in centipawns."""

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
        pairs = [self.weights.get(term.name, (0.0, 0.0)) for term in registry.TERMS]
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
    columns[:, -1] = 0.0  # a net sees both sides alike: what is left over is due to who moves, in files always White
    account = account_of(columns[~kept], scores[~kept])
    found = columns[kept] @ np.concatenate([account.weights, [account.to_move, account.constant]])
    weights = zip(registry.TERMS, *phases.halves(account.weights, compiled.NUMBER_OF_TERMS), strict=True)
    return WholeAccount(
        version=VERSION,
        net=digest(evaluation.network),
        name=Path(evaluation.name).stem,
        source=source,
        weights={term.name: (round(a, 2), round(b, 2)) for term, a, b in weights},
        to_move=round(account.to_move, 2),
        constant=round(account.constant, 2),
        all=_share(scores[kept], found),
        kinds={name: _share(scores[kept][at], found[at]) for name, at in _kinds(positions[kept]) if at.any()},
    )


def _share(scores: np.ndarray, found: np.ndarray) -> Share:
    return Share(len(scores), round(r2_of(scores, found), 4), round(float(np.abs(scores - found).mean()), 1))


def _kinds(positions: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Kinds of positions by what is on the board, boolean[n] each."""
    stages, queens = compiled.stages_of(positions), positions["pieces"][:, QUEEN] != 0
    yield "pawns only", stages == 0
    yield "endgame without queens", (stages > 0) & (2 * stages <= material.FULL_BOARD) & ~queens
    yield "endgame with queens", (2 * stages <= material.FULL_BOARD) & queens
    yield "middlegame without queens", (2 * stages > material.FULL_BOARD) & ~queens
    yield "middlegame with queens", (2 * stages > material.FULL_BOARD) & queens


def content_of(account: WholeAccount) -> bytes:
    """The content of its file."""
    return (json.dumps(asdict(account), indent=1) + "\n").encode()


def load_account(path: Path) -> WholeAccount:
    """The account in a file; raises StudyError."""
    with files.faults_named(path, "the account of a net", StudyError):
        fields = json.loads(files.read_user_file(path, files.SETTINGS))
        number = partial(errors.real_number, "a number of it", low=-MAX_NUMBER, high=MAX_NUMBER)
        shares = {
            name: Share(int(number(share["positions"])), number(share["r2"]), number(share["mean_error_cp"]))
            for name, share in {"all": fields["all"], **fields["kinds"]}.items()
        }
        found = WholeAccount(
            version=fields["version"],
            **{name: str(fields[name]) for name in ("net", "name", "source")},
            weights={name: (number(pair[0]), number(pair[1])) for name, pair in fields["weights"].items()},
            to_move=number(fields["to_move"]),
            constant=number(fields["constant"]),
            all=shares.pop("all"),
            kinds=shares,
        )
    if found.version != VERSION:
        raise StudyError(f"'{path}' is an account of version {found.version}, not {VERSION}")
    return found


@cache
def _accounts_for(net: Path) -> Mapping[str, WholeAccount]:
    """The accounts that come with Merino or lie next to a net, by the digest of their net.

    What cannot be read is left out, but for one that has the name of the net; that raises StudyError.
    """
    found, own = {}, net.with_suffix(ENDING)
    for path in (path for folder in (SHIPPED, net.parent) for path in sorted(folder.glob(f"*{ENDING}"))):
        try:
            account = load_account(path)
        except StudyError:
            if path == own:
                raise
        else:
            found[account.net] = account
    return found


def account_for(evaluation: Evaluation) -> WholeAccount | None:
    """The account that comes with a net or lies next to it; None if there is none, or for another evaluation.

    Raises StudyError for a damaged one that has the name of the net.
    """
    if not isinstance(evaluation, NetEvaluation):
        return None
    return _accounts_for(Path(evaluation.name).absolute()).get(digest(evaluation.network))


def start_of(evaluation: Evaluation) -> np.ndarray | None:
    """The weights from which the account around a position starts, float64[2 * terms]; None for none."""
    account = account_for(evaluation)
    return None if account is None else account.vector()


# The score of one position in words

MIN_STATED = 3.0  # centipawns of a score that are more than nothing
MOST = 0.5  # of the rest, that must go without a piece that is named
MIN_R2 = 0.005  # stated as 1% or more


def in_words(record: np.ndarray, evaluation: Evaluation) -> schema.WordsReport:
    """The score of the legal POSITION[1] explained by the terms, from White's view.

    They and the rest add up to the score before the draw rules, in whole centipawns. The parts of the pieces in the
    rest are those of all, from a1 to h8; a king at home has none.
    """
    account = account_around(record, evaluation, start_of(evaluation))
    by_terms = account.evaluation(evaluation.k, "account")
    explained = by_terms.explain(record)
    terms = tuple(schema.WordTermReport(line.name, line.net) for line in explained.lines)
    rest = int(np.rint(evaluation.white_scores(record)[0])) - math.fsum(term.cp for term in terms)
    parts = _parts_of_rest(record, evaluation, by_terms)
    sentences = (*_by_terms(explained, record), *_of_rest(rest, parts, record[0]["board"]), _of_share(account.r2))
    return schema.WordsReport(terms, rest, account.r2, parts, sentences)


def _of_share(r2: float) -> str:
    """How much the account explains, where anything: an R2 of 0 or less is no better than the mean of all moves."""
    if r2 < MIN_R2:
        return "Around this position the terms do not explain how moves change the score."
    return f"Around this position the terms explain {r2:.0%} of how moves change the score."


def _parts_of_rest(record: np.ndarray, evaluation: Evaluation, by_terms: Evaluation) -> dict[str, float]:
    """By square, how much the rest of the score falls without the piece there, in centipawns for White."""

    def rests_of(positions: np.ndarray) -> np.ndarray:
        whole = (np.rint(each.white_scores(positions)) for each in (evaluation, by_terms))
        return np.subtract(*whole) + 0.0  # so that nothing is never -0

    game = Coalitions(record, rests_of)
    squares = game.sets_of(np.arange(len(game.squares)))
    everyone = squares.sum(keepdims=True, dtype=np.uint64)
    known = dict(zip(game.squares, (game.scores(everyone) - game.scores(everyone & ~squares)).tolist(), strict=True))
    occupied = np.flatnonzero(record[0]["board"] != EMPTY).tolist()
    return {SQUARE_NAMES[square]: known.get(square, 0.0) for square in occupied}


def _by_terms(by_account: explanation.Explanation, record: np.ndarray) -> Iterator[str]:
    """The sum of the terms, and the largest facts that they count."""
    yield f"By the terms {_ahead(math.fsum(line.net for line in by_account.lines))}."
    if said := phrases.largest_for_each_side(by_account, record):
        yield said


def _ahead(centipawns: float) -> str:
    if abs(centipawns) < MIN_STATED:
        return "the position is even"
    return f"{fen.COLOUR_NAMES[centipawns < 0]} is ahead by {abs(centipawns) / 100:.2f}"


def _of_rest(rest: float, parts: Mapping[str, float], board: np.ndarray) -> Iterator[str]:
    """What the score has beyond the terms, and the piece without which most of it would go, but not all."""
    if abs(rest) < MIN_STATED:
        yield "The terms explain the whole score."
        return
    sign = 1 if rest > 0 else -1
    yield f"The net rates {fen.COLOUR_NAMES[sign < 0]} {abs(rest) / 100:.2f} above what the terms explain."
    least, most = MOST * abs(rest), abs(rest) - 1
    if shares := {square: sign * part for square, part in parts.items() if least < sign * part <= most}:
        square = max(shares, key=shares.__getitem__)
        colour, kind = divmod(int(board[SQUARE_NAMES.index(square)]), BLACK_PIECE)
        piece = f"{fen.COLOUR_NAMES[colour]}'s {chess.piece_name(kind + 1)}"
        how = f"With {piece} at home" if kind == KING else f"Without {piece} on {square}"
        yield f"{how} that would be {shares[square] / 100:.2f} less."
