"""What games and positions can tell beyond play: the point values of the pieces, and why."""
