"""Shipped weights files. Data only."""
