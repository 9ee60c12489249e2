"""Practice from a player's own mistakes: which positions make exercises, and when each is due again."""
