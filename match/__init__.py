"""Matches: engines play each other, and what the results prove."""
