"""Merino's evaluations: the contract of all families, and the family of the terms."""
