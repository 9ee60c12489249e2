"""The search: alpha-beta and what makes it fast, and the `Searcher` that Python code drives it with."""
