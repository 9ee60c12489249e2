"""Opening books and endgame tables."""
