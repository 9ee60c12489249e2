"""Rounds of self-play and learning, in each of which a match decides: the loop of `improve` and of `night`."""
