"""Load compiled entries in advance, from the cache or by compiling them: those of play, or of each part of Merino."""

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module

import numpy as np

from merino.core.board.game import Position
from merino.core.board.perft import perft
from merino.core.common.work import cores
from merino.core.compiled.cache import CACHE_GROUPS, INTERPRETED, PLAY, keeps_code, remove_stale
from merino.core.compiled.compiling import WATCH
from merino.core.compiled.jit import ENTRIES, CompiledEntry
from merino.engine.search import limits, state, strength, worker
from merino.engine.search.searcher import Searcher
from merino.eval.families import default, load_net, own_names
from merino.eval.net import family, network

log = logging.getLogger(__name__)

MIN_PATIENCE = 60.0  # seconds for a second process to end after the first has done its part
# What a second process compiles from the beginning of a part on.
TOGETHER = {PLAY: ("formats",), "match": ("study", "lab")}


def warm_up() -> float:
    """Load or compile everything a game needs; returns the seconds it took.

    What is compiled here is in the cache for the next start of any Merino with the same sources.
    """
    began = time.perf_counter()
    record = state.new_search_record()
    with WATCH.together(_entries("engine.search.worker", "engine.search.choice", "core.board.game")):
        if not INTERPRETED and worker.link.must_compile(record) and keeps_code() and cores() > 1:
            remove_stale()
            with _on_another_core():
                worker.link(record)  # the search: most of the work
        searcher = Searcher(hash_mb=1)
        _play_a_move().outcome()
        searcher.search(Position(), limits.Limits(depth=2))
        searcher.strength = strength.at_elo(strength.DEFAULT_ELO)
        searcher.search(_play_a_move(), limits.Limits(depth=1))
    return time.perf_counter() - began


@contextmanager
def _on_another_core(*names: str) -> Iterator[None]:
    """Let a second process compile these parts meanwhile, or without names the rest of play, and wait for it.

    The rest is what play needs in addition to the search. The process has less to do than the block. If it takes
    twice as long, it has been stopped, and this process does without it.
    """
    began = time.monotonic()
    command = [sys.executable, "-P", "-m", "merino.engine.search.warmup", *names]
    nothing = subprocess.DEVNULL
    modules = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}  # from where this process has them
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing, env=modules) as process:
        yield
        patience = max(MIN_PATIENCE, time.monotonic() - began)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            log.warning("the second process still compiles after %.0f s more: compiling the rest here", patience)
            process.kill()
    if process.returncode:
        log.info("the second process ended with %d: compiling the rest here", process.returncode)


def _compile_the_rest() -> None:
    """What play needs in addition to the search itself: the rules and the evaluation."""
    default().install(state.new_search_record())
    _play_a_move().outcome()


def _end_with_the_first_process() -> None:
    """Standard input ends when the first process ends or gives up, however that comes about."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


def _entries(*places: str) -> Iterator[CompiledEntry]:
    """The entries of modules or rooms that are loaded."""
    begins = tuple(f"merino.{place}." for place in places)
    return (each for each in ENTRIES if f"{each.py_func.__module__}.".startswith(begins))


def _play_a_move() -> Position:
    position = Position("r3k2r/8/8/8/8/8/4P3/R3K2R w KQkq - 0 1")
    position.push_uci("e1g1")
    position.pop()
    return position


def parts() -> dict[str, Callable[[], object]]:
    """What warms up each part of Merino, play first. Each group above the engine has a module `warmup` for its own."""
    return {PLAY: _warm_up_lowest, **{group: partial(_warm_up_group, group) for group in CACHE_GROUPS[1:]}}


def warm_up_parts(names: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Warm parts up in this order, some on another core; yields each with the seconds that it was waited for."""
    groups = [CACHE_GROUPS[0] if name == PLAY else name for name in names]
    for group in groups:
        if group != CACHE_GROUPS[0]:
            import_module(f"merino.{group}.warmup")
    with WATCH.together(_entries(*" ".join(groups).split())), ExitStack() as second:
        for name in names:
            began = time.perf_counter()
            if any(name in each for each in TOGETHER.values()):
                second.close()  # waits for it: what it has compiled is in the cache
            others = [other for other in TOGETHER.get(name, ()) if other in names]
            if others and keeps_code() and cores() > 1:
                second.enter_context(_on_another_core(*others))
            parts()[name]()
            yield name, time.perf_counter() - began


def _warm_up_group(group: str) -> None:
    import_module(f"merino.{group}.warmup").warm_up()


def _warm_up_lowest() -> None:
    """Call every entry of the lowest group: what play needs, and what only commands call."""
    warm_up()
    _warm_up_nets(state.new_search_record())
    for name in own_names(".net"):  # the code of some is that of their features
        load_net(name).install(state.new_search_record())
    position = Position()
    perft(Position(position.fen()).record, 1)
    default().scores(position.record)
    default().value_pieces(position.record)
    default().attributed(position.record)
    Searcher(hash_mb=1).exchange_gain(position, position.legal_moves[0])
    from merino.engine.syzygy.probing import link as link_tables  # noqa: PLC0415 (few have the tables)

    link_tables(state.new_search_record())


def _warm_up_nets(record: np.ndarray) -> None:
    """Score a position with empty nets, and install them in `record`, a scratch record SEARCH[1]."""
    for shape in (network.Shape("H*V", 1), network.Shape("ALL", 1), network.Shape(piece_values=True)):
        weights = {name: np.zeros(size, dtype=np.int16) for name, size in shape.layers().items()}
        net = family.NetEvaluation(network.Network(shape, weights, 1.0))
        net.scores(Position().record)
        net.install(record)
        shape.feature_set.active(Position().record)


def _be_second(names: Sequence[str]) -> None:
    """The work of a second process."""
    threading.Thread(target=_end_with_the_first_process, daemon=True).start()
    if not names:
        _compile_the_rest()
    for name in names:
        parts()[name]()


if __name__ == "__main__":
    _be_second(sys.argv[1:])
