"""In which order stages go to equal slots, so that the last one ends early: bounds and proofs."""
