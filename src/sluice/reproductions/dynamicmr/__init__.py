"""Tang, Lee and He: DynamicMR, as Tang's thesis evaluates it in chapter 4."""
