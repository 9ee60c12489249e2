"""Tuning by games: SPSA, its Bayesian variants, their simulator, and tunes by real games."""
