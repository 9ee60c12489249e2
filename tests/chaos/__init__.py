"""`make chaos`: every command that writes is killed, stopped, starved and disturbed, and what it leaves is examined."""
