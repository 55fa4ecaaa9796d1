"""The engines that `run` and `serve` can use: one file each, and one line in `registry`.

`kinds` says what an engine's descriptor answers: what its options must be, which nodes it has, and
the engine at work.
"""
