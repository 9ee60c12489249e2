"""What a player's games say: profiles and exercises."""
