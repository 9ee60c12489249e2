"""Where code is compiled, kept and linked: the two decorators, the cache, memory and calls by address."""
