"""The command `merino`: its table of commands, and those that belong to no package of their own."""
