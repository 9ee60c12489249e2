"""Merino's evaluation: 27 terms, each defined once, linear in their weights."""
