"""The page: files that a browser gets as they are, without a build step."""
