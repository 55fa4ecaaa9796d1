"""The changes that `steer` has made, or would make."""
