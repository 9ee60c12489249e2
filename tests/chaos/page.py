"""Plays the browser: starts the explorer, changes a weight, and saves the weights file that the page would save."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

from merino.inner.core.common.files import write_whole


def main() -> int:
    """The explorer with these arguments, a file saved from it; the exit code."""
    command = [sys.executable, "-m", "merino", *sys.argv[1:]]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as explorer:
        try:
            _save(explorer)
        except OSError as error:  # as a browser tells it
            print(f"the page could not be saved: {error}", file=sys.stderr)
            return 1
        finally:
            explorer.terminate()
    return 0


def _save(explorer: subprocess.Popen[str]) -> None:
    """Save the text of changed weights, whole or not at all; raises OSError."""
    assert explorer.stdout is not None
    found = next((found for line in explorer.stdout if (found := re.search(r"http://\S+?/", line))), None)
    if found is None:
        raise OSError("the explorer names no address")
    asked = urllib.request.Request(
        f"{found[0]}api/weights/text",
        json.dumps({"weights": "default", "changes": {"VAL_P_mg": 90}}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        write_whole(Path("saved.txt"), json.load(answer)["text"].encode())


if __name__ == "__main__":
    sys.exit(main())
