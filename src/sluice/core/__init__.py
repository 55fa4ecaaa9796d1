"""The scheduler itself, sans-I/O: events in, commands out, the same under any clock."""
