"""`merino cluster [ADDRESS]`: explains how to make a cluster of machines, and checks one."""

import time
from collections.abc import Sequence

from merino.app.console import shared
from merino.core.common import text, work
from merino.core.common.terminal import complain
from merino.lab.cluster.connection import ClusterSession, session
from merino.match import players, runner
from merino.match.config import MatchConfig, TimeControl

PAGE = """\
To use many machines for one task, start a Dask scheduler and a worker on each
machine, and give --cluster instead of --concurrency.

1. On every machine install the same checkout of Merino with the extra:
       pip install 'merino-chess[cluster]'        (or: pip install '.[cluster]')
   and compile once, which takes minutes:
       merino warmup
2. On one of them start the scheduler; its page is at http://HOST:8787/status:
       dask scheduler
3. On each start a worker, with as many threads as games at a time:
       dask worker tcp://HOST:8786 --nthreads 8
4. Check the workers:
       merino cluster tcp://HOST:8786
5. Give the address to match, gauntlet, round-robin, selfplay, spsa tune,
   spsa scan or night:
       merino match default new.txt --sprt 0 5 --cluster tcp://HOST:8786

Without other machines, local:N starts N processes on this one while a command
runs:
       merino cluster local:2

The same seed gives the same games on any cluster.
A worker of another version gets no work. Workers may come and go while a
command runs: the unfinished work of a lost one is repeated. Weights, nets and
openings are sent; other programs must be on the worker under the same path.
A worker runs any code that a client sends, so protect the ports by a firewall
or by TLS: https://distributed.dask.org/en/stable/tls.html
"""
DEFAULT_GAMES, NODES = 8, 1000  # of the measurement: for each thread, and a move


def run_cluster(words: Sequence[str]) -> int:
    """The command in a shell: 0, or 1 if some worker cannot be used; raises CommandError."""
    args = _parser().parse_args(words)
    if args.address is None:
        print(PAGE, end="")
        return 0
    with session(args.address, work.Needs(), complain) as found:
        if args.address.is_open:
            print(
                f"{args.address} is open: who reaches its ports can run any program on its machines, as their user.\n"
            )
        return _show(found, args.games)


def _parser() -> shared.Parser:
    parser = shared.Parser(
        prog="merino cluster",
        description="Explain how to use many machines; with an address, check its workers and measure them.",
        examples=("merino cluster", "merino cluster local:2", "merino cluster tcp://10.0.0.1:8786"),
    )
    sentence = "Dask scheduler, tcp://HOST:PORT, or local:N for N processes of this machine"
    parser.add_argument("address", nargs="?", type=shared.cluster_address, metavar="ADDRESS", help=sentence)
    sentence = f"games of the measurement for each thread, {NODES} nodes a move (default: %(default)s)"
    parser.add_argument("--games", type=shared.positive, metavar="N", default=DEFAULT_GAMES, help=sentence)
    return parser


def _show(found: ClusterSession, games: int) -> int:
    """Print the workers, and their speed in a match together."""
    rows = [("worker", "host", "threads", "ready after")]
    for address, worker in sorted(found.workers.ready.items()):
        rows.append((address, worker["host"], str(worker["threads"]), f"{worker['seconds']:.1f} s"))
    print("\n".join(text.aligned(rows, left=2)))
    for address, why in sorted(found.workers.refused.items()):
        print(f"{address}  cannot be used: it {why}")
    print("\n" + ", ".join(f"{name} {value}" for name, value in found.identity.items()))
    threads, player = found.workers.threads, players.OwnPlayer("default")
    config, began = MatchConfig((player, player), TimeControl(nodes=NODES)), time.perf_counter()
    played = sum(1 for _ in runner.play_match(config, threads * games, threads, executor=found.executor))
    speed = played / (time.perf_counter() - began)
    print(f"{found.workers.size}: {speed:.2f} games/s in one match of {played} games")
    if found.dashboard:
        print(f"Dask's dashboard is at {found.dashboard}")
    return 1 if found.workers.refused else 0
