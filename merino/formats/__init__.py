"""File formats: PGN, labelled and packed positions, opening files, compressed or not."""
