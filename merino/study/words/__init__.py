"""An evaluation without terms told in the terms: around one position, and on the whole."""
