"""A player's profile: what the moves of a person say about how they value positions."""
