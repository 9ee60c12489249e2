"""Tuning by games: SPSA, its Bayesian forms, a simulator of them, and the real thing."""
