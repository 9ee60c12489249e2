"""Moves as people write them, and why one is rejected."""
