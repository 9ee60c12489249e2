"""What all else stands on: the board, compiled code, and what every package uses."""
