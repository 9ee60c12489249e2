"""Training nets from positions, the changes of features by moves, and the piece values of a net."""
