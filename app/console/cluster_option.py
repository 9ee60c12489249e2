"""The option `--cluster` of a command: the executor for its work, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from merino.inner.app.cluster.address import ClusterAddress, Needs
from merino.inner.app.cluster.connection import ClusterError, session
from merino.inner.core.common.command import errors_named
from merino.inner.core.common.work import RemoteExecutor
from merino.inner.match.players import OtherPlayer, Player


@contextmanager
def cluster_executor(
    address: ClusterAddress | None, command: str, say: Callable[[str], object], needs: Needs
) -> Iterator[RemoteExecutor | None]:
    """The executor of the cluster at an address, None without an address; sentences for the user go to `say`.

    Raises CommandError.
    """
    if address is None:
        yield None
        return
    with errors_named(command, ClusterError), session(address, needs, say) as found:
        yield found.executor


def needs_of(players: Iterable[Player]) -> Needs:
    """The requirements of these players on workers."""
    programs = {player.command[0]: None for player in players if isinstance(player, OtherPlayer)}
    return Needs(("match",), tuple(programs))
