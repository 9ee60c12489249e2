"""Rounds of play, learning and proof, one after the other: the engine's own games teach it, and a match decides."""
