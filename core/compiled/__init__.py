"""Where code is compiled, kept and linked: the two decorators, the cache, memory at an address, recursion."""
