"""Learning the weights from games: PGN in, a better weights file out."""
