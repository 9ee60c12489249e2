"""The settings and the state of a run of `night`, and its folder.

The folder has a folder for each generation, with its games (`games.vf`), its net (`candidate.net`) and the states of
its matches. `best.net` is a copy of the net that has won. `start.net` is the net that the run began with;
`start.txt`, if it began with nothing, holds the weights of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Self

from merino.core.common.files import NET, is_there, read_user_file
from merino.core.common.sealed import finite
from merino.core.common.text import aligned, counted
from merino.eval.linear.family import LinearEvaluation
from merino.eval.linear.registry import TERMS
from merino.eval.linear.weights import as_mapping, render
from merino.eval.net.file import digest, net_in
from merino.eval.net.network import EXAMPLE, Network, Shape, parse_shape
from merino.lab.nets.gradient import Objective
from merino.lab.nets.shapes import MAX_GAMES, MIN_GAMES
from merino.lab.nets.training import Ahead, OnCard, Power, ShareOfResult, training
from merino.learn.errors import LearnError
from merino.learn.improve.rounds import (
    TABLE,
    LoopState,
    Round,
    RoundPlan,
    RunFolder,
    check_share,
    of_games,
    of_match,
    pieces_alone,
    read_state,
)
from merino.match.report import duration, signed

FORMAT = "merino night 1"
STATE_NAME = "night.json"
DEFAULT_FOLDER = "night"  # of the user's data, for a run that names no other
NOTHING = "nothing"
BEST, START_NET, START_TERMS = "best.net", "start.net", "start.txt"
GAMES, CANDIDATE = "games.vf", "candidate.net"
_COLUMNS = {
    "generation": "",
    "verdict": "",
    "games": "",
    "positions": "",
    "neurons": "",
    "error": ".6f",
    "match_games": "",
    "elo": ".1f",
    "elo_error": ".1f",
    "from_start": ".1f",
    "from_start_error": ".1f",
    "from_terms": ".1f",
    "from_terms_error": ".1f",
}
MIN_VALIDATION_GAMES = 20
FORMER_POWER = 2.6  # of the error, in runs that do not say
MOVE_COST = 60  # nodes that take the time of what a move of a game costs in addition to its search


@dataclass(frozen=True)
class NightPlan(RoundPlan):
    """The settings of a run; see RoundPlan.

    The games of the first generation have `nodes` a move; each net that began with random weights and wins takes three
    tenths of them away, to no less than `fewest_nodes`, for more games in the same time: the more the player knows, the
    more its games teach and the less its nodes do. A net that is trained further needs nodes: what searches of 40
    find, it knows (docs/lab/nets.md). Each net that wins plays `ladder` games against every rung of the ladder
    (`lab.nets.night.ladder`), 0 for none.
    """

    nodes: Annotated[int, "nodes per move", of_games("N", 1)] = 600
    fewest_nodes: Annotated[
        int,
        "fewest nodes per move: each net from random weights that wins takes three tenths of them away, down to N, "
        "for more games in the same time",
        of_games("N", 1),
    ] = 40
    games: Annotated[
        int,
        "games per generation",
        of_games("N", 1, default=f"{MIN_GAMES} from nothing, up to {MAX_GAMES} from a net that has learned much"),
    ] = MIN_GAMES
    window: Annotated[int, "learn from the games of the last N generations", of_games("N", 1)] = 12
    share: ShareOfResult = None
    shape: Annotated[
        str, f"shape of all nets, as in '{EXAMPLE}'", training("EXPR", default="what the positions support")
    ] = ""
    power: Power = Objective.power
    ahead: Ahead = 0.0
    gpu: OnCard = False
    gauge: Annotated[
        int, "games against the start, and against the terms, after each success; 0 for none", of_match("N")
    ] = 200
    ladder: Annotated[
        int,
        "games after each success against each rung of the ladder, older nets that stay the same: of Merino, and those "
        "of this run that were the first, second, fourth, eighth... to win; 0 for none",
        of_match("N"),
    ] = 50

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """See RoundPlan: a run that is older than some settings goes on as it was."""
        former = {"ahead": 0.0, "power": FORMER_POWER, "fewest_nodes": data["nodes"], "gpu": False}
        return super().from_json(former | {"shape": "", "ladder": 0} | data)

    def check(self) -> Self:
        """See RoundPlan."""
        if not 0 <= self.ahead < 1:
            raise LearnError(f"lambda is from 0 to below 1, not {self.ahead:g}")
        if self.share is not None:
            check_share(self.share)
        _ = self.asked_shape
        return super().check()

    def check_same(self, given: Mapping[str, Any], where: object) -> None:
        """See RoundPlan: a shape may be spelled in another way. Raises NetError, too."""
        asked = given.get("shape")
        if asked and self.shape and parse_shape(asked) == self.asked_shape:
            given = {**given, "shape": self.shape}
        super().check_same(given, where)

    @property
    def asked_shape(self) -> Shape | None:
        """The shape of all nets, None if the positions say it; raises NetError."""
        return parse_shape(self.shape) if self.shape else None

    def after(self, wins: int) -> Self:
        """The settings of the generation after so many nets from random weights that have won."""
        nodes = max(min(self.nodes, self.fewest_nodes), self.nodes * 7**wins // 10**wins)
        return replace(self, nodes=nodes, games=self.games * (self.nodes + MOVE_COST) // (nodes + MOVE_COST))

    def recipe(self, start: str, generations: int) -> str:
        """The command that plays and learns all generations up to one again, from a net of this name or nothing."""
        return (
            f"merino night --from {quote(start)} --generations {generations} --games {self.games} --nodes {self.nodes} "
            f"--fewest-nodes {self.fewest_nodes} --window {self.window} --power {self.power:.15g} "
            f"--lambda {self.ahead:.15g} --match-games {self.match_games} --match-nodes {self.match_nodes} "
            f"--sprt {self.elo0:.15g} {self.elo1:.15g} --gauge {self.gauge} --ladder {self.ladder} "
            f"--seed {self.seed}"
            + (f" --blend {self.share:.15g}" if self.share is not None else "")
            + (f" --shape '{self.shape}'" if self.shape else "")
            + (" --gpu" if self.gpu else "")
        )


def validation_share(games: int, usual: float) -> float:
    """The share of the games kept for validation: the usual one, or more to have some of few games."""
    return min(0.5, max(usual, MIN_VALIDATION_GAMES / max(1, games)))


@dataclass(frozen=True)
class GenerationData:
    """The games that a generation has played, in viriformat: what was played, by whom (a hash), and the file."""

    games: int
    positions: int
    bytes: int
    hash: str
    player: str


@dataclass(frozen=True)
class LadderMatch:
    """A match of a net that has won against a net of the ladder, its name and hash; Elo is that of the new net.

    `elo_error` is half the width of its 95% interval; both are None without a game.
    """

    name: str
    net: str
    games: int
    elo: float | None
    elo_error: float | None

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """The rung that `asdict` made; raises KeyError, TypeError or ValueError."""
        elo, error = (None if data[name] is None else float(data[name]) for name in ("elo", "elo_error"))
        return cls(str(data["name"]), str(data["net"]), int(data["games"]), elo, error)


@dataclass(frozen=True, kw_only=True)
class Generation(Round):
    """A finished generation. `games` and `positions` are those that it has learned from, `data` what it has played.

    `net` is the hash of its net, `error` that on validation games. `continued` says that its training began with the
    best. `from_terms` is the Elo of the best against the terms that come with Merino, as `from_start`. `ladder` has the
    matches against older nets, of a net that has won. Seconds and nodes a second are those of playing its games, and
    of training.
    """

    neurons: int
    continued: bool
    error: float
    net: str
    data: GenerationData
    from_terms: float | None
    from_terms_error: float | None
    play_seconds: float
    train_seconds: float
    nodes_a_second: float
    ladder: tuple[LadderMatch, ...] = ()

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """See Round; a run that is older than the ladder has none."""
        found = super().from_json({"ladder": ()} | data)
        ladder = tuple(map(LadderMatch.from_json, found.ladder))  # plain data until here
        return replace(found, data=GenerationData(**data["data"]), ladder=ladder)


@dataclass(frozen=True, kw_only=True)
class NightState(LoopState[NightPlan, Generation]):
    """The finished generations of a run. `start_hash` is that of the net it began with, empty for nothing."""

    columns = _COLUMNS

    start_hash: str = ""

    @property
    def is_from_nothing(self) -> bool:
        """Whether it began with nothing."""
        return not self.start_hash

    def before(self, number: int) -> NightState:
        """The state before a generation, counted from 1."""
        return replace(self, rounds=self.rounds[: number - 1])

    @property
    def kept(self) -> list[int]:
        """The generations whose nets have won."""
        return [found.number for found in self.rounds if found.is_proven]

    @property
    def plan_now(self) -> NightPlan:
        """The settings of the next generation."""
        return self.plan.after(sum(found.is_proven and not found.continued for found in self.rounds))

    def as_json(self) -> dict[str, Any]:
        """See LoopState."""
        return {"format": FORMAT, **super().as_json(), "start_hash": self.start_hash}


class NightFolder(RunFolder[NightState]):
    """The folder of a run of `night`."""

    command, state_name, round_name = "night", STATE_NAME, "generation"
    _written = 0  # the generation whose net `best.net` is, as far as this process knows

    def read(self, path: Path) -> NightState:
        """See RunFolder."""
        return load_state(path)

    def contents(self, state: NightState) -> dict[str, bytes]:
        """See RunFolder."""
        contents, number = {TABLE: state.table().encode()}, state.last_proven
        if number != self._written:
            _, contents[BEST] = _read_net(self.of_round(number) / CANDIDATE, state.rounds[number - 1].net)
            self._written = number
        return contents

    def best(self, state: NightState) -> Path:
        """The file of the best: a net, or the weights of nothing if none has won."""
        if state.last_proven:
            return self.path / BEST
        return self.path / (START_TERMS if state.is_from_nothing else START_NET)

    def best_net(self, state: NightState) -> Network | None:
        """The best net, None for the weights of nothing; raises LearnError and EvaluationError."""
        number = state.last_proven
        if not number and state.is_from_nothing:
            return None
        return net_of(self.path, state, number)

    def start(self, state: NightState) -> Network | LinearEvaluation:
        """What the run began with; raises LearnError and EvaluationError."""
        return nothing() if state.is_from_nothing else net_of(self.path, state, 0)


def net_of(folder: Path, state: NightState, number: int) -> Network:
    """The net of a generation of the run in a folder, or with 0 the one that it began with.

    Raises LearnError and EvaluationError.
    """
    path = NightFolder.round_path(folder, number) / CANDIDATE if number else folder / START_NET
    return _read_net(path, state.rounds[number - 1].net if number else state.start_hash)[0]


def _read_net(path: Path, known: str) -> tuple[Network, bytes]:
    """The net that a run has left in a file, and its content; raises LearnError unless it has the hash `known`."""
    if not is_there(path):
        raise LearnError(f"'{path}' is missing: a run of night needs it; give a new folder, or put it back")
    content = read_user_file(path, NET)
    network = net_in(content, path)
    if digest(network) != known:
        raise LearnError(f"'{path}' is another net than this run left there: {digest(network)}, not {known}")
    return network, content


def nothing_text() -> str:
    """The weights file of nothing."""
    return render(
        as_mapping(pieces_alone(TERMS)), ["Where merino night begins from nothing: the values of the pieces"], TERMS
    )


def nothing() -> LinearEvaluation:
    """The evaluation of nothing."""
    return LinearEvaluation(pieces_alone(TERMS), terms=TERMS)


def load_state(path: Path) -> NightState:
    """Read `night.json`; raises LearnError."""
    with read_state(path, FORMAT, "a night") as data:
        return NightState(
            plan=NightPlan.from_json(data["plan"]),
            start_name=str(data["start"]),
            start_hash=str(data["start_hash"]),
            rounds=tuple(Generation.from_json(found) for found in data["rounds"]),
            seconds=float(data["seconds"]),
        )


_WORK = ("generation", "at", "neurons", "positions", "error", "nodes a second", "time")
_STRENGTH = ("generation", "Elo against the best", "", "from the start", "from the terms")
_VERDICTS = {"H1": "kept", "H0": "dropped"}


def summary(state: NightState) -> list[str]:
    """The generations as lines of text: the work, the strength, the ladder if there is one, and a sentence."""
    if not state.rounds:
        return ["No generation is finished yet."]
    proven, hours = len(state.kept), state.hours[-1]
    played = sum(each.data.positions for each in state.rounds)
    speed = sum(each.nodes_a_second * each.play_seconds for each in state.rounds)
    speed /= max(1e-9, sum(each.play_seconds for each in state.rounds))
    last = (
        f"{counted(len(state.rounds), 'generation')} in {duration(hours * 3600)}, {proven} kept; {played:,} positions "
        f"played at {speed:,.0f} nodes a second"
    )
    work = [_work(found, after) for found, after in zip(state.rounds, state.hours, strict=True)]
    strength = [_strength(found) for found in state.rounds]
    return [*aligned([_WORK, *work]), "", *aligned([_STRENGTH, *strength]), *_ladder(state), last]


def _work(found: Generation, hours: float) -> tuple[str, ...]:
    return (
        str(found.number),
        duration(hours * 3600),
        f"{found.neurons}{' (continued)' if found.continued else ''}",
        f"{found.positions:,}",
        f"{found.error:.5f}",
        f"{found.nodes_a_second:,.0f}",
        duration(found.seconds),
    )


def _strength(found: Generation) -> tuple[str, ...]:
    return (
        str(found.number),
        f"{_elo(found.elo, found.elo_error)} ({found.match_games} games)",
        _VERDICTS.get(found.verdict, "not settled"),
        _elo(found.from_start, found.from_start_error),
        _elo(found.from_terms, found.from_terms_error),
    )


def _ladder(state: NightState) -> Iterator[str]:
    """A line for each net that has met the ladder."""
    names = ladder_of(state)
    rows = []
    for found in state.rounds:
        met = {rung.name: _elo(rung.elo, rung.elo_error) for rung in found.ladder}
        if met:
            rows.append((str(found.number), *(met.get(name, "") for name in names)))
    if rows:
        yield ""
        yield from aligned([("generation", *(f"from {name}" for name in names)), *rows])
        plan = state.plan
        yield f"Ladder: {plan.ladder} games against each of these older nets, at {plan.match_nodes} nodes a move"
    yield ""


def ladder_of(state: NightState) -> list[str]:
    """The names of the nets on the ladder, as far as one has met them, in the order of the ladder."""
    return list(dict.fromkeys(rung.name for found in state.rounds for rung in found.ladder))


def as_plain(state: NightState) -> list[dict[str, Any]]:
    """The generations as plain data, with the `hours` at the end of each; an Elo without bounds is None."""
    return [_plain(found, hours) for found, hours in zip(state.rounds, state.hours, strict=True)]


def _plain(found: Generation, hours: float) -> dict[str, Any]:
    data = asdict(found) | {"kept": found.is_proven, "hours": round(hours, 4)}
    for each in (data, *data["ladder"]):
        each |= {name: finite(each[name]) for name in _ELOS & each.keys()}
    return data


_ELOS = {"elo", "elo_error", "from_start", "from_start_error", "from_terms", "from_terms_error"}


def _elo(value: float | None, error: float | None) -> str:
    return "" if value is None or error is None else signed(value, error)
