"""Explanation of moves: the terms they change, at once and at the end of their line; comparison of weights files.

The static half, one position at a time, is `eval.linear.explain`.
"""
