"""The commands of `choral`, a module each: they read options, call the rooms, and print."""
