"""`python -m benchmarks [SECTION ...]`: print the measurements asked for, or all of them."""

import argparse

from benchmarks import (
    clusters,
    evaluation,
    exploring,
    fitting,
    latency,
    matches,
    move_generation,
    nets,
    reading,
    searching,
    studying,
    tuning,
)

SECTIONS = {
    "perft": move_generation.report,
    "eval": evaluation.report,
    "search": searching.report,
    "read": reading.report,
    "fit": fitting.report,
    "match": matches.report,
    "cluster": clusters.report,
    "points": studying.report,
    "tune": tuning.report,
    "nets": nets.report,
    "uci": latency.report,
    "explorer": exploring.report,
}


def main() -> None:
    """Run the sections named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Merino's speed.")
    parser.add_argument("section", nargs="*", help=f"what to measure: {', '.join(SECTIONS)} (all of them)")
    sections = parser.parse_args().section or list(SECTIONS)
    unknown = [name for name in sections if name not in SECTIONS]
    if unknown:
        parser.error(f"no section is called {', '.join(unknown)}")
    for name in sections:
        SECTIONS[name]()


if __name__ == "__main__":
    main()
