"""The profile of the search tells where the time of a node goes."""

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64" or shutil.which("nm") is None,
    reason="the profile reads the registers of x86-64 under Linux, and symbols by nm",
)
@pytest.mark.parametrize("evaluation", ["default", "gen13"])
def test_the_samples_of_a_search_fall_into_its_steps(evaluation):
    # Six rounds give some ninety samples; one gave fifteen, too few for every step.
    command = [sys.executable, "tools/profile_search.py", "--rounds", "6", "--evalfile", evaluation]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    head, steps, functions = told.split("\n\n")
    assert re.fullmatch(r"\d+ nodes, \d+ ns each, \d+ samples", head)
    rows = [line.split(None, 2) for line in steps.splitlines()[1:]]
    shares = {step: float(share.rstrip("%")) for _, share, step in rows}
    assert shares["evaluation"] > 5
    assert shares["alpha-beta and quiescence"] > 5
    assert shares.get("outside the compiled search", 0) < 30
    assert sum(shares.values()) == pytest.approx(100, abs=1)
    assert "engine.search.alpha_beta.alpha_beta" in functions
