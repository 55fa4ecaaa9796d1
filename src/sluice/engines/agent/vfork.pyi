# Written in C, see vfork.c. Returns the process id of the command, and 0 or the number of the error
# that kept it from running.
def spawn(
    path: bytes,
    argv: list[bytes],
    env: list[bytes],
    cwd: bytes | None,
    log_fd: int,
    limits: list[tuple[int, int]],
) -> tuple[int, int]: ...
