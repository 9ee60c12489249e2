"""The family of the nets: feature sets, net files, and an evaluation that is updated move by move."""
