"""Merino's tests."""
