"""Files that others made: opening books and endgame tables."""
