"""The report of a position: what an evaluation and a search say of it, as plain data, and the text and JSON of that."""
