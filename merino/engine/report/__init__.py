"""The report of a position: its evaluation and search as plain data, and their text and JSON."""
