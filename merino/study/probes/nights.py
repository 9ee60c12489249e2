"""What the nets of a night know: linear probes of those that have won, from generation to generation.

The probes are kept in the folder of the night, so that they are made once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from merino.core.common.files import write_whole
from merino.core.common.sealed import as_json, from_json
from merino.core.common.user_files import STATE, faults_named, is_there, read_user_file
from merino.eval.evaluation import EvaluationError
from merino.eval.net.piece_family import net_evaluation
from merino.formats.packed import PackedError, unpack
from merino.formats.packed_files import all_positions, evenly
from merino.formats.sources import SourceError
from merino.lab.nets.night.state import GAMES, NightFolder, NightState, net_of
from merino.learn.errors import LearnError
from merino.study.errors import StudyError
from merino.study.probes.probe import POSITIONS, Probed, probe, table

PROBES_NAME = "probes.json"
FORMAT = "merino night probes 1"
MAX_NETS = 10  # that are asked, so that their table is read at a glance
DIGITS = 4  # of R2
START = "start"
PROBE_FAULTS = (LearnError, EvaluationError, PackedError, SourceError, StudyError)  # why nets cannot be asked


def asked(state: NightState) -> dict[str, int]:
    """The generations that are asked, by name: the start, if it is a net, and those that have won, evenly if many."""
    kept = state.kept
    last = len(kept) - 1
    chosen = {kept[round(place * last / (MAX_NETS - 1))] for place in range(MAX_NETS)} if kept else set()
    named = {str(number): number for number in sorted(chosen)}
    return named if state.is_from_nothing or not named else {START: 0} | named


def probe_night(folder: Path, state: NightState, watch: Callable[[str], object] = lambda _: None) -> tuple[Probed, ...]:
    """What the nets know, in the order of `probe`, on positions of the games of the last that has won.

    Empty if none has. Raises PROBE_FAULTS, of them StudyError for too few positions.
    """
    numbers = asked(state)
    if not numbers:
        return ()
    nets = {name: net_evaluation(net_of(folder, state, number), name) for name, number in numbers.items()}
    games = NightFolder.round_path(folder, state.last_proven) / GAMES
    found = probe(nets, unpack(evenly(all_positions(games), POSITIONS)), watch)
    return tuple(_rounded(each) for each in found)


def _rounded(each: Probed) -> Probed:
    r2 = {net: round(value, DIGITS) for net, value in each.r2.items()}
    return replace(each, r2=r2, chance=round(each.chance, DIGITS), board=round(each.board, DIGITS))


def probes_of(folder: Path, state: NightState, watch: Callable[[str], object] = lambda _: None) -> tuple[Probed, ...]:
    """As `probe_night`, but from the folder if they were kept there; else they are kept. Raises OSError, too."""
    kept = kept_probes(folder / PROBES_NAME, state)
    if kept and list(kept[0].r2) == list(asked(state)):
        return kept
    probed = probe_night(folder, state, watch)
    keep_probes(folder, state, probed)
    return probed


def keep_probes(folder: Path, state: NightState, probed: Sequence[Probed]) -> None:
    """Keep them in the folder, if there are any; raises OSError."""
    if probed:
        nets = {name: _hash_of(state, number) for name, number in asked(state).items()}
        content = {"format": FORMAT, "nets": nets, "probes": [asdict(each) for each in probed]}
        write_whole(folder / PROBES_NAME, as_json(content, indent=1))


def kept_probes(path: Path, state: NightState) -> tuple[Probed, ...]:
    """What is kept in a file, if it is of nets of this run, though perhaps not of the last; raises StudyError."""
    if not is_there(path):
        return ()
    with faults_named(path, "the probes of a night", StudyError):
        data = from_json(read_user_file(path, STATE), str(path))
        nets = data["nets"]
        if data.get("format") != FORMAT or any(not _is_of(state, *net) for net in nets.items()):
            return ()
        return tuple(_from_json(each, list(nets)) for each in data["probes"])


def _from_json(data: Any, nets: list[str]) -> Probed:
    r2 = {net: float(data["r2"][net]) for net in nets}
    numbers = float(data["chance"]), float(data["board"])
    return Probed(str(data["name"]), bool(data["is_term"]), int(data["seen"]), r2, *numbers)


def _is_of(state: NightState, name: str, net: str) -> bool:
    number = 0 if name == START else int(name)
    return number <= len(state.rounds) and _hash_of(state, number) == net


def _hash_of(state: NightState, number: int) -> str:
    return state.rounds[number - 1].net if number else state.start_hash


def told(probed: Sequence[Probed]) -> list[str]:
    """What the nets have learned, as lines of text: the columns are generations, and what comes first is at the top.

    What none has learned is counted.
    """
    learned = [each for each in probed if each.learned]
    head = "What the nets know, R2 of linear probes of their neurons, by generation:"
    others = f"{len(probed) - len(learned)} other terms and motifs: no net tells clearly more of them than chance."
    return [head, *table(learned), others] if learned else [head, others]
