"""Annotation of games: the change of the evaluation by each move, and mistakes by loss of expected score."""
