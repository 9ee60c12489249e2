"""Studies of games and positions: explanations, annotations, the point values of the pieces."""
