"""All that the rest of Merino knows of `merino.lab`: names, which are imported when they are asked for."""

from __future__ import annotations

from typing import Any

from merino.core.common.command import Command, loaded

# The commands of the lab, as `merino help` lists them.
COMMANDS = (
    Command(
        "article",
        "merino.lab.article:run_article",
        "Learn the versions of the article on GreKo 2015 ML, and play each against their start.",
    ),
    Command(
        "points FILE ...",
        "merino.lab.points.command:run_points",
        "Estimate the values of the pieces from the games of PGN files.",
        ("piece-values",),
    ),
    Command(
        "profile GAMES.pgn --player NAME",
        "merino.lab.people.profile_command:run_profile",
        "Say what a player's moves lose, when, and by which mistakes.",
    ),
    Command(
        "drill GAMES.pgn --player NAME",
        "merino.lab.people.drill_command:run_drill",
        "Practise from a player's own mistakes.",
    ),
    Command(
        "cluster [ADDRESS]",
        "merino.lab.cluster.command:run_cluster",
        "Explain how to use many machines; check and measure theirs.",
    ),
    Command(
        "spsa COMMAND ...",
        "merino.lab.tune.spsa_command:run_spsa",
        "Tune parameters by games, scan one, simulate or plan a tune.",
    ),
    Command(
        "net FILE",
        "merino.lab.nets.net_command:run_net",
        "Show the shape and training of a net, and its piece values.",
    ),
    Command("train FILE ...", "merino.lab.nets.train_command:run_train", "Train a net from scored positions."),
    Command(
        "night --hours H",
        "merino.lab.nets.night_command:run_night",
        "Make stronger and stronger nets: play, train and prove by a match.",
    ),
    Command(
        "features EXPR [FEN]",
        "merino.lab.nets.features_command:run_features",
        "Show a feature set of nets, and its features in a position.",
    ),
)

# What the front asks the lab for: executors, panels of the explorer, plots.
PARTS = {
    "cluster.executor": "merino.lab.cluster.connection:cluster_executor",
    "cluster.needs_of": "merino.lab.cluster.connection:needs_of",
    "cluster.address": "merino.core.common.work:ClusterAddress",
    "positions.counts": "merino.lab.nets.position_counts:count_positions",
    "night.load": "merino.lab.nets.night.state:load_state",
    "night.ladder": "merino.lab.nets.night.report:ladder_of",
}


def from_lab(name: str) -> Any:
    """The part of the lab that has this name in PARTS."""
    return loaded(PARTS[name])
