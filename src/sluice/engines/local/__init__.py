"""The local engine: attempts are processes on this machine."""
