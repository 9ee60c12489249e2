"""What every part may use: commands and their errors, files written whole."""
