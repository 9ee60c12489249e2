"""Learning the weights from games."""
