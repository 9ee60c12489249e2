"""Moves as people write them, and the reasons why moves are rejected."""
