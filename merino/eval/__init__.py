"""Merino's evaluations: the contract, the family of the terms, and the family of the nets."""
