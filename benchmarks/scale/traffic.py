"""Bytes through the scheduler and the client, counted in the process that holds both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from distributed.comm import tcp


class ByteCounter:
    """Bytes sent and received by this process."""

    sent = 0
    received = 0

    @property
    def total(self) -> int:
        return self.sent + self.received


@contextmanager
def count_bytes() -> Iterator[ByteCounter]:
    """Count what distributed writes to sockets and reads from them."""
    counter, write, read = ByteCounter(), tcp.TCP.write, tcp.read_bytes_rw

    async def counted_write(self: tcp.TCP, *args: Any, **kwargs: Any) -> int:
        n_bytes = await write(self, *args, **kwargs)
        counter.sent += n_bytes
        return n_bytes

    async def counted_read(stream: Any, n_bytes: int) -> memoryview:
        counter.received += n_bytes
        return await read(stream, n_bytes)

    with patch.object(tcp.TCP, "write", counted_write), patch.object(tcp, "read_bytes_rw", counted_read):
        yield counter
