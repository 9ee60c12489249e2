"""Plays the page: starts the explorer and lets it save what it keeps on the disk.

That is the progress of practice, and weights that are put in use. A night that it starts is that of `merino night`.
"""

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

PATIENCE = 120.0  # seconds for an answer on a busy machine


def main() -> int:
    """The explorer with these arguments, all saved; the exit code, 1 with what the page would show."""
    command = [sys.executable, "-m", "merino", *sys.argv[1:]]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as explorer:
        try:
            address, token = _address(explorer)
            _practise(address, token)
            _ask(f"http://{address}/api/weights/use?token={token}", {"weights": "default", "changes": {"VAL_P_mg": 90}})
        except (OSError, HTTPException, WebSocketException) as error:
            print(f"the page could not save: {error}", file=sys.stderr)
            return 1
        finally:
            explorer.send_signal(signal.SIGINT)
    return explorer.returncode


def _address(explorer: subprocess.Popen[str]) -> tuple[str, str]:
    """Where it answers, and the token of its link."""
    assert explorer.stdout is not None
    found = next(
        (found for line in explorer.stdout if (found := re.search(r"http://(\S+?)/\?token=(\S+)", line))), None
    )
    if found is None:
        raise OSError("the explorer names no address")
    return found[1], found[2]


def _practise(address: str, token: str) -> None:
    """Find the exercises of the games on the command line, and practise one unless that was done."""
    with connect(f"ws://{address}/ws/drill?token={token}", open_timeout=PATIENCE, max_size=None) as socket:
        socket.send(json.dumps({"id": 1, "file": True, "player": "Merino", "most": 3}))
        last: Mapping[str, Any] = {}
        while last.get("type") not in ("done", "error"):
            last = json.loads(socket.recv(PATIENCE))[-1]
    if "error" in last:
        raise OSError(last["error"])
    if last["keeps"] and not last["practised"]:
        found = {"practice": last["practice"], "exercise": min(last["exercises"]), "found": True}
        _ask(f"http://{address}/api/drill/review?token={token}", found)


def _ask(address: str, question: Mapping[str, Any]) -> None:
    asked = urllib.request.Request(address, json.dumps(question).encode(), {"Content-Type": "application/json"})
    try:
        urllib.request.urlopen(asked, timeout=PATIENCE).close()
    except urllib.error.HTTPError as error:
        raise OSError(error.read().decode()) from error


if __name__ == "__main__":
    sys.exit(main())
