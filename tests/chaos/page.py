"""Plays the browser: starts the explorer, changes a weight, and saves the weights file that the page would save."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path


def main() -> int:
    """The explorer with these arguments, a file saved from it; the exit code."""
    command = [sys.executable, "-m", "merino", *sys.argv[1:]]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as explorer:
        assert explorer.stdout is not None
        found = next((found for line in explorer.stdout if (found := re.search(r"http://\S+?/", line))), None)
        if found is None:
            return 1
        asked = urllib.request.Request(
            f"{found[0]}api/weights/text",
            json.dumps({"weights": "default", "changes": {"VAL_P_mg": 90}}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(asked, timeout=60) as answer:
            text = json.load(answer)["text"]
        Path("saved.txt").write_text(text, encoding="utf-8")
        explorer.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
