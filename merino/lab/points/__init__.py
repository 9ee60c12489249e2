"""The values of the pieces in any games, by logistic regression on material alone."""
