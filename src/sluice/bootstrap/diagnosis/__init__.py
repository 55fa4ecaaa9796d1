"""Why a run took that long, and which changes would help."""
