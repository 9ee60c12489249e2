"""What a player's games tell: profiles and exercises."""
