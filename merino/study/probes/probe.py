"""Linear probes: how well the neurons of a net's first layer tell what is on the board.

For each term and motif, what White has of it less what Black has is fitted by ridge regression to the neurons of both
views, on three quarters of the positions, and told on the others. R2 near 1 means that the net computes it, or could
with one more sum; near 0 that nothing of it is there. After McGrath and others, who asked AlphaZero so
(arXiv 2111.09259).

Two controls are asked the same. Many neurons tell something though they never learned it: so each net is asked again
with the weights of each neuron shuffled among the features, and the best of these tells what is due to chance. And for
what a sum over the pieces on their squares tells, no neuron is needed.

The chart shows R2 of terms and motifs by net, the controls beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import chess
import numpy as np

from merino.core.board.fen import to_fen
from merino.core.common.pictures import SETTINGS, load_matplotlib, saved
from merino.eval.linear.evaluate import features_of
from merino.eval.linear.registry import TERMS
from merino.eval.net.family import NetEvaluation
from merino.eval.net.features import features
from merino.study.errors import StudyError
from merino.study.probes.motifs import MOTIFS
from merino.study.words.account import told

POSITIONS = 12_000  # that tell R2 to 0.03
HELD_OUT = 4  # one position of so many is told, the others are fitted to
RIDGE = 1.0  # per neuron, whose values are 0 to 1
MIN_POSITIONS = 200
MIN_SEEN = 10  # positions that must have a motif for it to be asked about
SEED = 1  # of the shuffling
MIN_LEARNED = 0.1  # of R2 that a net must tell more than chance to have learned a thing
LEARNED = 0.8  # of the largest such gain: who has so much has learned it
_BRIGHT = 0.5  # R2 from which the colour is so dark that white is read better on it


@dataclass(frozen=True)
class Probed:
    """What nets are asked about, with R2 of its probes; `seen` is the number of positions that have any of it."""

    name: str
    is_term: bool
    seen: int
    r2: Mapping[str, float]  # by the name of each net, oldest first
    chance: float  # with shuffled weights, the highest of the nets
    board: float  # by the pieces on their squares

    @property
    def learned(self) -> str | None:
        """The first net that tells nearly as much more than chance as any; None if none does."""
        gains = {net: r2 - self.chance for net, r2 in self.r2.items()}
        best = max(gains.values())
        return next((net for net, gain in gains.items() if gain >= LEARNED * best >= LEARNED * MIN_LEARNED), None)

    @property
    def order(self) -> tuple[int, float]:
        """Sorts what is learned first to the top, and then what the last net tells best."""
        nets, learned = list(self.r2), self.learned
        return nets.index(learned) if learned else len(nets), -self.r2[nets[-1]]

    def as_plain(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        return asdict(self) | {"learned": self.learned}


def probe(
    nets: Mapping[str, NetEvaluation], positions: np.ndarray, watch: Callable[[str], object] = lambda _: None
) -> tuple[Probed, ...]:
    """All terms and motifs that POSITION[n] have often enough, by all nets, oldest first, in the order of `Probed`.

    `watch` hears what is being done. Raises StudyError for too few positions, and where they have nothing of any often.
    """
    if len(positions) < MIN_POSITIONS:
        raise StudyError(f"probes need {MIN_POSITIONS} positions, not {len(positions)}")
    watch("counting motifs")
    names = [term.name for term in TERMS] + list(MOTIFS)
    targets = np.concatenate([features_of(positions), motifs_of(positions)], axis=1)
    seen = (np.abs(targets) > 1e-9).sum(axis=0)
    board = told_by(_pieces_on_squares(positions), targets)
    found: dict[str, np.ndarray] = {}
    chance = np.zeros(len(names))
    for name, net in nets.items():
        watch(f"probing {name}")
        found[name] = told_by(neurons_of(net, positions), targets)
        chance = np.maximum(chance, told_by(neurons_of(net, positions, SEED), targets))
    probed = [
        Probed(
            name,
            index < len(TERMS),
            int(seen[index]),
            {net: float(r2[index]) for net, r2 in found.items()},
            float(chance[index]),
            float(board[index]),
        )
        for index, name in enumerate(names)
        if seen[index] >= MIN_SEEN
    ]
    if not probed:
        raise StudyError(f"no term or motif is in {MIN_SEEN} of these positions: others are needed")
    return tuple(sorted(probed, key=lambda each: each.order))


def motifs_of(positions: np.ndarray) -> np.ndarray:
    """What White has of each motif less what Black has, float64[n, motifs]."""
    boards = (chess.Board(to_fen(positions[index : index + 1])) for index in range(len(positions)))
    return np.array(
        [[count(board, chess.WHITE) - count(board, chess.BLACK) for count in MOTIFS.values()] for board in boards]
    )


def neurons_of(net: NetEvaluation, positions: np.ndarray, shuffle: int | None = None) -> np.ndarray:
    """The first layer after its activation, White's view and then Black's: float64[n, 2 * hidden], 0 to 1.

    With `shuffle`, a seed, the weights of each neuron are shuffled among the features.
    """
    network = net.network
    weights, bias = network.as_floats["inputs"], network.as_floats["input_bias"]
    if shuffle is not None:
        weights = np.random.default_rng(shuffle).permuted(weights, axis=0)
    rows = []
    for views in network.shape.feature_set.active(positions):
        sums = np.concatenate([weights[active].sum(axis=0) + bias for active in views])
        rows.append(np.clip(sums, 0, 1))
    values = np.array(rows)
    return values**2 if network.shape.activation == "screlu" else values


def _pieces_on_squares(positions: np.ndarray) -> np.ndarray:
    """1 for each piece on its square, float64[n, features]."""
    feature_set = features("ALL")
    found = np.zeros((len(positions), feature_set.size))
    for row, (active, _) in zip(found, feature_set.active(positions), strict=True):
        row[active] = 1
    return found


def told_by(neurons: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """R2 of each target, float64[targets], on the positions held out; 0 where the probe tells less than the mean."""
    kept = np.arange(len(neurons)) % HELD_OUT == 0
    columns = np.concatenate([neurons, np.ones((len(neurons), 1))], axis=1)
    fitted = columns[~kept]
    ridge = np.full(columns.shape[1], RIDGE)
    ridge[-1] = 0.0  # of the constant
    weights = np.linalg.solve(fitted.T @ fitted + np.diag(ridge), fitted.T @ targets[~kept])
    said = columns[kept] @ weights
    return np.array([max(0.0, told(targets[kept, at], said[:, at])) for at in range(targets.shape[1])])


def table(found: Sequence[Probed]) -> Iterator[str]:
    """R2 by net as lines of text, terms and then motifs, in the order given."""
    for title, is_term in (("term", True), ("motif", False)):
        chosen = [each for each in found if each.is_term == is_term]
        if not chosen:
            continue
        nets = list(chosen[0].r2)
        width = max(5, *map(len, nets)) + 2
        heads = "".join(f"{net:>{width}}" for net in nets)
        yield f"{title:<24}{'positions':>9}{'board':>7}{'chance':>8}{heads}  learned by"
        for each in chosen:
            told = "".join(f"{each.r2[net]:{width}.2f}" for net in nets)
            yield f"{each.name:<24}{each.seen:9}{each.board:7.2f}{each.chance:8.2f}{told}  {each.learned or '-'}"
        yield ""
    yield "board: by the pieces on their squares alone. chance: by neurons with shuffled weights, the best of the nets."


def draw(probed: Sequence[Probed], ending: str) -> bytes:
    """The picture's bytes in the format of its ending; raises MerinoError where matplotlib is not installed.

    Each row is a term or motif, in the order given, each column a net or, apart from them, a control.
    """
    figure_class, style = load_matplotlib()
    with style.rc_context(SETTINGS | {"svg.fonttype": "none", "font.size": 8}):
        figure = figure_class(layout="constrained")
        paint(figure, probed)
        return saved(figure, ending)


def paint(figure: Any, probed: Sequence[Probed]) -> None:
    """Draw the chart on a figure."""
    rows = [each for is_term in (True, False) for each in probed if each.is_term == is_term]
    controls = [[each.chance, each.board] for each in rows]
    nets = list(rows[0].r2)
    figure.set_size_inches(2.6 + 0.42 * (len(nets) + 2), 0.19 * len(rows) + 1.3)
    panels = figure.subplots(1, 2, sharey=True, width_ratios=[len(nets), 2])
    for axes, values, names in (
        (panels[0], [list(each.r2.values()) for each in rows], nets),
        (panels[1], controls, ["chance", "board"]),
    ):
        _fill(axes, np.array(values), names)
    names = [f"{each.name}{'' if each.is_term else ' (motif)'}" for each in rows]
    panels[0].set_yticks(range(len(rows)), names, fontsize=8)
    panels[1].tick_params(left=False)
    figure.suptitle("R2 of linear probes in hundredths, on positions kept apart", fontsize=9)


def _fill(axes: Any, values: np.ndarray, names: Sequence[str]) -> None:
    """Draw the cells of R2, each with its number of hundredths."""
    axes.imshow(values, cmap="Blues", vmin=0, vmax=0.8, aspect="auto")
    axes.grid(visible=False)
    rotation = 45 if max(map(len, names)) > 6 else 0
    axes.set_xticks(range(len(names)), names, rotation=rotation, fontsize=8)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    axes.spines[:].set_visible(False)
    for (row, column), r2 in np.ndenumerate(values):
        colour = "white" if r2 >= _BRIGHT else "black"
        axes.text(column, row, f"{100 * r2:.0f}", ha="center", va="center", color=colour, fontsize=7)
