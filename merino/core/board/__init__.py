"""The board: sets of squares, attacks, positions, moves, rules, FEN and perft."""
