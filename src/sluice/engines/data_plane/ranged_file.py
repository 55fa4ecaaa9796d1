"""A file that is read by ranges, from a data server or a store, as if it were on a disk."""

from __future__ import annotations

from collections.abc import Callable

from sluice.engines.data_plane.stores import FoundVersion

WINDOW_BYTES_MAX = 8 << 20

ReadRange = Callable[[int, int], bytes]


class RangedFile:
    """Reads bytes by `read_range(start, end)`, which gives fewer at the end of the file.

    What is read in order is read ahead, in windows that double, so that a look at a few bytes costs
    a few bytes. version: gives the present version of the file.

    >>> file = RangedFile(lambda start, end: b"abcdef"[start:end], lambda: FoundVersion(6, 0, 0))
    >>> file.read(2), file.read(3), file.seek(1), file.read(9), file.version().st_size
    (b'ab', b'cde', 1, b'bcdef', 6)
    """

    def __init__(self, read_range: ReadRange, version: Callable[[], FoundVersion]) -> None:
        self.version = version
        self._read_range = read_range
        self._position = 0
        self._window = b""
        self._window_at = 0
        self._window_bytes = 0

    def seek(self, position: int) -> int:
        """Go on from this byte."""
        self._position = position
        return position

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none only at the end of the file. Raises OSError."""
        start = self._position - self._window_at
        if not 0 <= start < len(self._window):
            is_next = start == len(self._window) and self._window_bytes > 0
            wanted = min(2 * self._window_bytes, WINDOW_BYTES_MAX) if is_next else 0
            self._window_bytes = max(size, wanted)
            self._window = self._read_range(self._position, self._position + self._window_bytes)
            self._window_at, start = self._position, 0
        data = self._window[start : start + size]
        self._position += len(data)
        return data
