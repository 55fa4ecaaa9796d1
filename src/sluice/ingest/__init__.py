"""The one way in for outside data: bytes, limits, parse, model value."""
