"""What each piece adds to a score by Shapley values, for every family of evaluations."""
