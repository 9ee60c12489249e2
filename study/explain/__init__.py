"""Moves explained: what each changes in the terms, at once and at the end of its line; weights files compared.

The static half, one position at a time, is `eval.linear.explain`.
"""
