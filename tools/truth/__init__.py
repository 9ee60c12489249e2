"""A check of what Merino says of moves, by python-chess and an engine of your choice, without any code of Merino."""
