"""In which order jobs pass a chain of stages, each with slots of its own: bounds and proofs."""
