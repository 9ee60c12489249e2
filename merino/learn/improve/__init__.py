"""`merino improve`: rounds of self-play and learning, in each of which a match decides on the new weights."""
