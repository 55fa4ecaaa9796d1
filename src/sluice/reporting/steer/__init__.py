"""What `steer` has changed, or would change."""
