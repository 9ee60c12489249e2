"""Used by all other packages: commands and their errors, atomic writing of files, progress, the map of work."""
