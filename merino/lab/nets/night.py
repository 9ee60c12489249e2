"""A run of `night`: generations of nets, each trained on games of the best one and proved by a match.

A generation plays games of the best, trains a net on them, plays the deciding match, and matches that measure. An
interrupted step continues: games and matches from their own states, training from its last epoch.

The folder has a folder for each generation, with its games (`games.vf`), its net (`candidate.net`) and the states of
its matches. `best.net` is a copy of the net that has won. `start.net` is the net that the run began with;
`start.txt`, if it began with nothing, holds the weights of that.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from merino.core.common import files, sealed
from merino.core.common.text import aligned, counted
from merino.eval import families
from merino.eval.linear import family, registry, weights
from merino.eval.net import file as net_files
from merino.eval.net import network
from merino.eval.net.family import NetEvaluation
from merino.formats import packed, packed_files, sources
from merino.lab.nets import gpu, gradient, position_blocks, shapes, starting, training
from merino.learn import request
from merino.learn.improve import rounds
from merino.match.report import duration, signed
from merino.study.judge import STRONGEST

DEFAULT_FOLDER = "night"  # of the user's data, for a run that names no other
DEFAULT_START = STRONGEST
NOTHING = "nothing"
BEST, START_NET, START_TERMS = "best.net", "start.net", "start.txt"
GAMES, CANDIDATE, CHECKPOINT = "games.vf", "candidate.net", "candidate.net.state"
POSITIONS, FIT = "positions.bin", "fit.json"
LADDER = rounds.GAUGE + 2  # the step of the seeds of its matches, behind those of the two gauges
FROM_NOTHING, FROM_A_NET = ("gen1", "gen12"), ("gen12",)  # nets of Merino on the ladder; a net is far above the first
ELOS = ("elo", "elo_error", "from_start", "from_start_error", "from_terms", "from_terms_error")
_WHOLE = ("generation", "verdict", "games", "positions", "neurons")
_COLUMNS = dict.fromkeys(_WHOLE, "") | {"error": ".6f", "match_games": ""} | dict.fromkeys(ELOS, ".1f")
MIN_VALIDATION_GAMES = 20
FORMER_POWER = 2.6  # of the error, in runs that do not say
MOVE_COST = 60  # nodes that take the time of what a move of a game costs in addition to its search


@dataclass(frozen=True)
class NightPlan(rounds.RoundPlan):
    """The settings of a run; see RoundPlan.

    The games of the first generation have `nodes` a move; each net that began with random weights and wins takes three
    tenths of them away, to no less than `fewest_nodes`, for more games in the same time: the more the player knows, the
    more its games teach and the less its nodes do. A net that is trained further needs nodes: what searches of 40
    find, it knows (docs/lab/nets.md). Each net that wins plays `ladder` games against every rung of the ladder
    (`rungs_of`), 0 for none.
    """

    nodes: Annotated[int, "nodes per move", rounds.of_games("N", 1)] = 600
    fewest_nodes: Annotated[
        int,
        "fewest nodes per move: each net from random weights that wins takes three tenths of them away, down to N, "
        "for more games in the same time",
        rounds.of_games("N", 1),
    ] = 40
    games: Annotated[
        int,
        "games per generation",
        rounds.of_games(
            "N",
            1,
            default=f"{shapes.MIN_GAMES} from nothing, up to {shapes.MAX_GAMES} from a net that has learned much",
        ),
    ] = shapes.MIN_GAMES
    window: Annotated[int, "learn from the games of the last N generations", rounds.of_games("N", 1)] = 12
    share: training.ShareOfResult = None
    shape: Annotated[
        str,
        f"shape of all nets, as in '{network.EXAMPLE}'",
        training.training("EXPR", default="what the positions support"),
    ] = ""
    power: training.Power = gradient.Objective.power
    gpu: training.OnCard = False
    gauge: Annotated[
        int, "games against the start, and against the terms, after each success; 0 for none", rounds.of_match("N")
    ] = 200
    ladder: Annotated[
        int,
        "games after each success against each rung of the ladder, older nets that stay the same: of Merino, and those "
        "of this run that were the first, second, fourth, eighth... to win; 0 for none",
        rounds.of_match("N"),
    ] = 50

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """See RoundPlan: a run that is older than some settings continues as it was."""
        if data.get("ahead"):
            raise request.LearnError("it looks ahead by --lambda, which is gone: begin another run")
        former = {"power": FORMER_POWER, "fewest_nodes": data["nodes"], "gpu": False}
        return super().from_json(former | {"shape": "", "ladder": 0} | data)

    def check(self) -> Self:
        """See RoundPlan."""
        if self.share is not None:
            rounds.check_share(self.share)
        _ = self.asked_shape
        return super().check()

    def check_same(self, given: Mapping[str, Any], where: object) -> None:
        """See RoundPlan: a shape may be spelled in another way. Raises NetError, too."""
        asked = given.get("shape")
        if asked and self.shape and network.parse_shape(asked) == self.asked_shape:
            given = {**given, "shape": self.shape}
        super().check_same(given, where)

    @property
    def asked_shape(self) -> network.Shape | None:
        """The shape of all nets, None if the positions say it; raises NetError."""
        return network.parse_shape(self.shape) if self.shape else None

    def after(self, wins: int) -> Self:
        """The settings of the generation after so many nets from random weights that have won."""
        nodes = max(min(self.nodes, self.fewest_nodes), self.nodes * 7**wins // 10**wins)
        return replace(self, nodes=nodes, games=self.games * (self.nodes + MOVE_COST) // (nodes + MOVE_COST))

    def recipe(self, start: str, generations: int) -> str:
        """The command that plays and learns all generations up to one again, from a net of this name or nothing."""
        return (
            f"merino night --from {quote(start)} --generations {generations} --games {self.games} --nodes {self.nodes} "
            f"--fewest-nodes {self.fewest_nodes} --window {self.window} --power {self.power:.15g} "
            f"--match-games {self.match_games} --match-nodes {self.match_nodes} "
            f"--sprt {self.elo0:.15g} {self.elo1:.15g} --gauge {self.gauge} --ladder {self.ladder} "
            f"--seed {self.seed}"
            + (f" --blend {self.share:.15g}" if self.share is not None else "")
            + (f" --shape '{self.shape}'" if self.shape else "")
            + (" --gpu" if self.gpu else "")
        )


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


@dataclass(frozen=True, kw_only=True)
class Generation(rounds.Round):
    """A finished generation. `games` and `positions` are those that it has learned from, `data` what it has played.

    `net` is the hash of its net, `error` that on validation games. `continued` says that its training began with the
    best. `from_terms` is the Elo of the best against the terms that come with Merino, as `from_start`. `ladder` has the
    matches against older nets, of a net that has won, none in runs that are older than that. Seconds and nodes a second
    are those of playing its games, and of training.
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


@dataclass(frozen=True, kw_only=True)
class NightState(rounds.LoopState):
    """The finished generations of a run. `start_hash` is that of the net it began with, empty for nothing."""

    command, columns = "night", _COLUMNS

    plan: NightPlan
    rounds: tuple[Generation, ...] = ()
    start_hash: str = ""

    @property
    def is_from_nothing(self) -> bool:
        """Whether it began with nothing."""
        return not self.start_hash

    @property
    def kept(self) -> list[int]:
        """The generations whose nets have won."""
        return [found.number for found in self.rounds if found.is_proven]

    @property
    def plan_now(self) -> NightPlan:
        """The settings of the next generation."""
        return self.plan.after(sum(found.is_proven and not found.continued for found in self.rounds))


def nothing() -> family.LinearEvaluation:
    """The evaluation of nothing."""
    return family.LinearEvaluation(rounds.pieces_alone(registry.TERMS), terms=registry.TERMS)


def player_of(net: network.Network | None) -> family.LinearEvaluation | NetEvaluation:
    """The evaluation of a net, or of nothing for None."""
    return nothing() if net is None else NetEvaluation(net)


class NightFolder(rounds.RunFolder[NightState]):
    """The folder of a run of `night`, and what its rounds do.

    Nothing outside the folder is touched.
    """

    state_kind, round_name = NightState, "generation"
    _written = 0  # the generation whose net `best.net` is, as far as this process knows

    def contents(self, state: NightState) -> dict[str, bytes]:
        """See RunFolder."""
        contents, number = {rounds.TABLE: state.table().encode()}, state.last_proven
        if number != self._written:
            _, contents[BEST] = self._read_net(state, number)
            self._written = number
        return contents

    def best(self, state: NightState) -> Path:
        """The file of the best: a net, or the weights of nothing if none has won."""
        start = START_TERMS if state.is_from_nothing else START_NET
        return self.path / (BEST if state.last_proven else start)

    def net(self, state: NightState, number: int) -> network.Network | None:
        """The net of a generation, or with 0 the start, None for nothing; raises LearnError and EvaluationError."""
        return self._read_net(state, number)[0] if number or not state.is_from_nothing else None

    def _read_net(self, state: NightState, number: int) -> tuple[network.Network, bytes]:
        """The net that the run has left for a generation, or the start, and the content of its file."""
        path = self.round_path(self.path, number) / CANDIDATE if number else self.path / START_NET
        known = state.rounds[number - 1].net if number else state.start_hash
        if not files.is_there(path):
            raise request.LearnError(f"'{path}' is missing: a run of night needs it; {rounds.BACK}")
        content = files.read_user_file(path, files.NET)
        found = net_files.net_in(content, path)
        if net_files.digest(found) != known:
            raise request.LearnError(
                f"'{path}' is another net than this run left there: {net_files.digest(found)}, not {known}"
            )
        return found, content

    def round(self, state: NightState, context: rounds.StepContext) -> Generation:
        """See RunFolder."""
        number, plan, folder = len(state.rounds) + 1, state.plan_now, self.of_round(len(state.rounds) + 1)
        best = self.net(state, state.last_proven)
        player, name = player_of(best), NOTHING if best is None else net_files.digest(best)
        data = {each: state.rounds[each - 1].data for each in plan.learns_from(number) if each < number}
        for each, known in data.items():
            check_data(self.of_round(each) / GAMES, known)
        context.events.say(f"Generation {number}: {plan.games} games of {name} at {plan.nodes} nodes a move")
        seconds = rounds.play_games(plan, number, player, folder, context, positions=folder / GAMES).seconds
        data[number] = data_of(folder / GAMES, name)
        fitted = fit_generation(self, state, data, context)
        trained, games = net_files.load_net(folder / CANDIDATE), sum(each.games for each in data.values())
        if net_files.digest(trained) != fitted.net:
            raise request.LearnError(f"'{folder / CANDIDATE}' is not the net of '{FIT}': remove both to train again")
        before = "" if fitted.start_error is None else f", of the best {fitted.start_error:.6f}"
        context.events.say(f"  learned from {games:,} games; error on validation games {fitted.error:.6f}{before}")
        new = NetEvaluation(trained)
        outcome = self.decided(state, new, player, context)
        start = {"from_start": lambda: player_of(self.net(state, 0)), "from_terms": families.default}
        return Generation(
            number=number,
            games=games,
            positions=fitted.positions,
            neurons=trained.shape.hidden,
            continued=fitted.continued,
            error=fitted.error,
            net=fitted.net,
            data=data[number],
            play_seconds=seconds,
            train_seconds=fitted.seconds,
            nodes_a_second=data[number].positions * plan.nodes / max(seconds, 1e-9),
            **outcome,
            **self.gauged(state, outcome["verdict"], new, start, context),
            ladder=tuple(self._climb(state, new, context)) if outcome["verdict"] == "H1" else (),
        )

    def _climb(self, state: NightState, new: NetEvaluation, context: rounds.StepContext) -> Iterator[LadderMatch]:
        """Play the net of the present generation, which has won, against the rungs of the ladder."""
        number, plan = len(state.rounds) + 1, state.plan
        trial = replace(plan.gauge_trial(number, LADDER), most_games=plan.ladder)
        for name, rung in self._rungs(state) if plan.ladder else ():
            path = self.of_round(number) / f"ladder-{name.replace(' ', '-')}.state"
            tally = rounds.play_match(new, NetEvaluation(rung), trial, path, context, decides=False)
            yield LadderMatch(name, net_files.digest(rung), tally.games, *rounds.elo_of(tally))

    def _rungs(self, state: NightState) -> Iterator[tuple[str, network.Network]]:
        """The nets of the ladder by name; without the start where a gauge meets it anyway."""
        for name in FROM_NOTHING if state.is_from_nothing else FROM_A_NET:
            found = net_files.load_net(families.find_net(name))
            if not state.plan.gauge or net_files.digest(found) != state.start_hash:
                yield name, found
        for number in rungs_of(state):
            yield f"generation {number}", self._read_net(state, number)[0]

    def line(self, found: Generation) -> str:
        """See RunFolder."""
        words = f"Generation {found.number}, {found.neurons} neurons: {rounds.OUTCOMES[found.verdict]}"
        *parts, time = rounds.outcome_words(found, words)
        if found.from_terms is not None and found.from_terms_error is not None:
            parts.append(f"{signed(found.from_terms, found.from_terms_error)} from the terms")
        return "; ".join([*parts, time])


def rungs_of(state: NightState) -> list[int]:
    """The generations of a run on its ladder, which stays the same: the first, second, fourth, eighth... to win."""
    return [number for place, number in enumerate(state.kept, 1) if place & (place - 1) == 0]


def data_of(path: Path, player: str) -> GenerationData:
    """What a generation has played, in a file; raises PackedError and SourceError."""
    games, positions = 0, 0
    for some in packed_files.games_with_scores(path):
        games, positions = games + len(some), positions + len(some.moves)
    return GenerationData(games, positions, path.stat().st_size, sources.digest(path), player)


def check_data(path: Path, known: GenerationData) -> None:
    """Raise LearnError unless the games of a finished generation, in a file, are those that it has played."""
    if not files.is_there(path):
        raise request.LearnError(f"'{path}' is missing: later generations learn from it; {rounds.BACK}")
    if sources.digest(path) != known.hash:
        raise request.LearnError(f"'{path}' has changed since it was played: {rounds.BACK}")


def learned_before(start: network.Network | None) -> int | None:
    """The positions that the start of a run, None for nothing, has learned from; None if it does not say."""
    return 0 if start is None else training.learned_by(start)


class ShapeChoice(NamedTuple):
    """The shape of the next net, whether its training begins with the best net, and why, in words."""

    shape: network.Shape
    continued: bool
    reason: str


def shape_for(
    positions: int, best: network.Network | None, learned: int | None, asked: network.Shape | None = None
) -> ShapeChoice:
    """What net to train on so many positions.

    The best net is trained further until the run has as many positions as its start had `learned` from, and always if
    that is not known. Then, and if the run began with nothing, training begins with random weights, and the shape is
    what the positions support. A shape that was `asked` for is kept; the best is trained further if it is part of it.
    """
    row, wide = shapes.supported_by(positions), ""
    why = f"so many positions support {row.shape} ({row.reason})" if asked is None else "it was asked for"
    if best is None:
        return ShapeChoice(asked or row.shape, False, f"from random weights: {why}")
    if asked is not None and starting.fault_of_part(best.shape, asked):
        return ShapeChoice(asked, False, f"from random weights: {why}, and the best, {best.shape}, is no part of it")
    if learned is None or positions < learned:
        wanted = asked or shapes.grown(best.shape, positions)
        more = "" if wanted == best.shape else f", which was {best.shape}: {why}"
        since = "its start does not say how many positions it learned from"
        if learned is not None:
            since = f"its start learned from {learned:,} positions, which are more"
        return ShapeChoice(wanted, True, f"training the best further{more}: {since}")
    shape = asked or shapes.renewed(best.shape, positions)
    if shape.hidden == best.shape.hidden > row.shape.hidden and not asked:
        wide = ", as wide as the best"
    return ShapeChoice(shape, False, f"from random weights{wide}: {why}")


@dataclass(frozen=True)
class NightFit:
    """A trained net by its hash, how it was made, and how long that took.

    `start_error` is that of the best, where its training was continued, over the same validation games; the first runs
    did not keep it.
    """

    positions: int
    continued: bool
    net: str
    error: float
    seconds: float
    start_error: float | None = None


def fit_generation(
    folder: NightFolder, state: NightState, data: Mapping[int, GenerationData], context: rounds.StepContext
) -> NightFit:
    """Train a net on the games of these generations, the last of which is the present one, and write it there.

    Raises LearnError, TrainingError and StepStoppedError.
    """
    place = folder.of_round(max(data))
    if not files.is_there(place / FIT):
        _fit(folder, state, data, context)
    for path in (place / POSITIONS, place / CHECKPOINT):  # also those of a run that was killed after the fit
        path.unlink(missing_ok=True)
    return rounds.kept_fit(place / FIT, NightFit, "a generation")


def _fit(
    folder: NightFolder, state: NightState, data: Mapping[int, GenerationData], context: rounds.StepContext
) -> None:
    number, plan, best = max(data), state.plan_now, folder.net(state, state.last_proven)
    place, learned = folder.of_round(number), learned_before(folder.net(state, 0))
    scratch, usual = place / POSITIONS, training.TrainingSettings()  # a file, so that memory does not bound them
    if not packed_files.write_packed_file(scratch, _positions(folder, state, data, context)):
        raise request.LearnError(f"the games in '{place}' have no position to learn from: more games are needed")
    validation = min(0.5, max(usual.validation, MIN_VALIDATION_GAMES / max(1, plan.games)))  # some of few games

    def report(state: training.TrainingState) -> None:
        context.events.progressed(f"Training, error {state.error:.6f}", state.done)
        context.poll()

    with position_blocks.open_blocks(scratch) as records:
        choice = shape_for(len(records), best, learned, plan.asked_shape)
        context.events.say(f"  {len(records):,} positions: {choice.shape}, {choice.reason}")
        start = best if choice.continued else None  # it keeps its scale; the scores have that of the terms
        course = shapes.course_for(records, usual.batch, start, validation)
        share = shapes.supported_by(len(records)).share if plan.share is None else plan.share
        settings = replace(
            usual,
            shape=choice.shape,
            objective=gradient.Objective(
                share, course.k, plan.power, families.default().k if start else course.score_k
            ),
            epochs=course.epochs,
            rate=course.rate,
            validation=validation,
            seed=plan.seed_of(number, 1),
            gpu=plan.gpu,
        )
        about: dict[str, Any] = {"before": learned} if start else {}
        name = NOTHING if state.is_from_nothing else Path(state.start_name).name  # a path means nothing elsewhere
        about |= {"recipe": state.plan.recipe(name, number)}
        about |= {"generations": [{"generation": each, **asdict(played)} for each, played in data.items()]}
        found = training.Trainer(records, settings, about, place / CHECKPOINT, context.threads, start).run(report)
    if found.interrupted:
        raise rounds.StepStoppedError
    net_files.save_net(found.network, place / CANDIDATE)
    times = found.validation_error, found.seconds, found.start_error
    fitted = NightFit(len(records), choice.continued, net_files.digest(found.network), *times)
    files.write_whole(place / FIT, sealed.as_json(asdict(fitted)))


def _positions(
    folder: NightFolder, state: NightState, data: Mapping[int, GenerationData], context: rounds.StepContext
) -> Iterator[np.ndarray]:
    """The positions of the games of these generations, with scores on the scale of the terms.

    The scores of a generation have the scale of the net that played it; those of nothing have that of the terms.
    """
    for number in data:
        player = folder.net(state, replace(state, rounds=state.rounds[: number - 1]).last_proven)
        factor = 1.0 if player is None else families.default().k / player.k
        path = folder.of_round(number) / GAMES
        progress = partial(context.events.progressed, "Reading games")
        for part in packed_files.packed_positions(path, packed.Filter(), progress):
            context.poll()
            yield packed_files.rescaled(part, factor)


def begin(
    path: Path,
    start: str | None,
    given: Mapping[str, Any],
    until: rounds.Until,
    events: request.Events,
    threads: int | None = None,
    executor: Executor | None = None,
) -> rounds.Finished[NightState]:
    """Run in the folder `path`, from a net or "nothing"; `given` are settings of the NightPlan.

    `start` is a file or the name of a net that comes with Merino, None for DEFAULT_START or that of the folder. An
    existing folder keeps its settings and start, and what is given must agree with them. `executor` plays the games.
    Raises LearnError, TrainingError, EvaluationError, PackedError, MatchError and OSError.
    """
    with NightFolder(path) as folder:
        state = folder.load()
        name = start or (DEFAULT_START if state is None else NOTHING if state.is_from_nothing else state.start_name)
        source, net = None, None
        if name != NOTHING and (state is None or start or not files.is_there(path / START_NET)):
            source = families.read_net(name)
            net = net_files.net_in(source.content, source.path)
        known = "" if net is None else net_files.digest(net)
        if state is None:
            games = {"games": shapes.games_to_teach(training.learned_by(net))} if net else {}
            plan = NightPlan(**{**games, **given}).check()
            start_name = NOTHING if source is None else str(sealed.writable(str(source.path)))
            state = NightState(plan=plan, start_name=start_name, start_hash=known)
        else:
            state.plan.check_same(given, path)
            if known != state.start_hash and (source is not None or name == NOTHING):
                raise request.LearnError(
                    f"'{path}' began with '{state.start_name}' as it was, not with '{name}' as it is: name the former, "
                    "or give a new folder"
                )
            events.say(f"Continuing in '{path}' after {counted(len(state.rounds), 'generation')}")
        if state.plan.gpu:
            gpu.check_gpu(state.plan.asked_shape or (net.shape if net else network.Shape()))  # of all that it trains
        folder.save(state)
        if state.is_from_nothing and not files.is_there(path / START_TERMS):
            comment = ["Where merino night begins from nothing: the values of the pieces"]
            text = weights.render(weights.as_mapping(rounds.pieces_alone(registry.TERMS)), comment, registry.TERMS)
            files.write_whole(path / START_TERMS, text.encode())
        if source is not None and not files.is_there(path / START_NET):
            files.write_whole(path / START_NET, source.content)
        return folder.run(state, until, events, threads, executor)


def summary(state: NightState) -> list[str]:
    """The generations as lines of text: the work, the strength, the ladder if there is one, and a sentence."""
    if not state.rounds:
        return ["No generation is finished yet."]
    work = [("generation", "at", "neurons", "positions", "error", "nodes a second", "time")]
    strength = [("generation", "Elo against the best", "", "from the start", "from the terms")]
    names, verdicts = ladder_of(state), {"H1": "kept", "H0": "dropped"}
    ladder: list[tuple[str, ...]] = [("generation", *(f"from {name}" for name in names))]
    for found, hours in zip(state.rounds, state.hours, strict=True):
        number, neurons = str(found.number), f"{found.neurons}{' (continued)' if found.continued else ''}"
        cells = f"{found.positions:,}", f"{found.error:.5f}", f"{found.nodes_a_second:,.0f}", duration(found.seconds)
        work.append((number, duration(hours * 3600), neurons, *cells))
        elo = f"{_elo(found.elo, found.elo_error)} ({found.match_games} games)"
        gauges = _elo(found.from_start, found.from_start_error), _elo(found.from_terms, found.from_terms_error)
        strength.append((number, elo, verdicts.get(found.verdict, "not settled"), *gauges))
        if met := {rung.name: _elo(rung.elo, rung.elo_error) for rung in found.ladder}:
            ladder.append((number, *(met.get(name, "") for name in names)))
    lines = [*aligned(work), "", *aligned(strength), ""]
    if names:
        plan = state.plan
        each = f"{plan.ladder} games against each of these older nets, at {plan.match_nodes} nodes a move"
        lines += [*aligned(ladder), f"Ladder: {each}", ""]
    played = sum(each.data.positions for each in state.rounds)
    playing = sum(each.play_seconds for each in state.rounds)
    speed = sum(each.nodes_a_second * each.play_seconds for each in state.rounds) / max(1e-9, playing)
    return [
        *lines,
        f"{counted(len(state.rounds), 'generation')} in {duration(state.hours[-1] * 3600)}, {len(state.kept)} kept; "
        f"{played:,} positions played at {speed:,.0f} nodes a second",
    ]


def ladder_of(state: NightState) -> list[str]:
    """The names of the nets on the ladder, as far as one has met them, in the order of the ladder."""
    return list(dict.fromkeys(rung.name for found in state.rounds for rung in found.ladder))


def as_plain(state: NightState) -> list[dict[str, Any]]:
    """The generations as plain data, with the `hours` at the end of each; an Elo without bounds is None."""
    rows = []
    for found, hours in zip(state.rounds, state.hours, strict=True):
        data = asdict(found) | {"kept": found.is_proven, "hours": round(hours, 4)}
        for each in (data, *data["ladder"]):
            each |= {name: sealed.finite(each[name]) for name in ELOS if name in each}
        rows.append(data)
    return rows


def _elo(value: float | None, error: float | None) -> str:
    return "" if value is None or error is None else signed(value, error)
