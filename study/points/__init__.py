"""What the pieces are worth in somebody's games, by logistic regression on material alone."""
