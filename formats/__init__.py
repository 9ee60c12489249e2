"""What others wrote, read: PGN, positions with labels, opening files, compressed or not."""
