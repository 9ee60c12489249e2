"""Reasons in the words of chess players: what a line wins and loses, by which motif, and what a move lets happen."""
