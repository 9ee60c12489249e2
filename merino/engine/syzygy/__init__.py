"""Syzygy's tables of results, read by compiled code: who wins, with best play, a position with few pieces."""
