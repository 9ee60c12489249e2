"""The family of the nets: feature sets, the network file, and its evaluation, updated move by move."""
