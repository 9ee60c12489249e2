"""Learning weights from games: PGN in, a better weights file out."""
