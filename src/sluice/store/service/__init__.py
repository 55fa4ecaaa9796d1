"""What a service keeps: its folder, and what users submitted to it."""
