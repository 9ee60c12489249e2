"""The engine: search, notation, the report of a position, books and endgame tables, and UCI."""
