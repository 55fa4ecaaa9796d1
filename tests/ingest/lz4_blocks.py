"""The block stream of lz4-java, as Spark writes it."""

from __future__ import annotations

import struct

import lz4.block


def lz4_block_stream(content: bytes, *, block_bytes: int = 4096) -> bytes:
    """The stream of lz4-java's LZ4BlockOutputStream, as Spark writes it; checksums are left 0."""
    blocks = []
    for start in range(0, len(content), block_bytes):
        plain = content[start : start + block_bytes]
        packed = lz4.block.compress(plain, store_size=False)
        method, body = (0x20, packed) if len(packed) < len(plain) else (0x10, plain)
        header = struct.pack("<8sBiiI", b"LZ4Block", method | 5, len(body), len(plain), 0)
        blocks.append(header + body)
    return b"".join([*blocks, struct.pack("<8sBiiI", b"LZ4Block", 0x15, 0, 0, 0)])
