"""The set `full`: the usual terms of a strong hand-crafted evaluation, each a sentence and a weight."""
