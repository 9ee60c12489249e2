"""Rounds of play, learning and proof: the engine learns from its own games, and a match decides."""
