"""The search: alpha-beta with its techniques, and the `Searcher` by which Python code drives it."""
