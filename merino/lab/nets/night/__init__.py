"""`merino night`: generations of nets, each trained on games of the best one and proved by a match."""
