"""What Sluice remembers, and the only openers of its databases."""
