"""Nets from positions: what features change, training, and what a net has learnt."""
