"""The family of the terms: a sum of weights times counts, explained term by term, learned from games."""
