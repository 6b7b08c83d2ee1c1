"""The least that speaks HTTP/1.1, for many connections at a time: the server should be what is busy, not the client."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


class Refusal(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, content: bytes) -> None:
        super().__init__(f"{status} {content[:300]!r}")
        self.status = status


@dataclass(slots=True)
class Wire:
    """One kept-alive connection to a port of this machine, with its cookie."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    cookie: str = ""

    @classmethod
    async def to(cls, port: int, cookie: str = "") -> Wire:
        """Connect."""
        return cls(*await asyncio.open_connection("127.0.0.1", port), cookie)

    async def send(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Send a request and wait for its answer's content."""
        cookie = f"cookie: {self.cookie}\r\n" if self.cookie else ""
        kind = "content-type: application/json\r\n" if body else ""
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\n{cookie}{kind}content-length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        size = 0
        for line in answer.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
            elif name.lower() == b"set-cookie":
                self.cookie = value.decode().split(";")[0].strip()
        content = await self.reader.readexactly(size)
        status = int(answer.split(b" ", 2)[1])
        if status >= 400:
            raise Refusal(status, content)
        return content

    def close(self) -> None:
        """Hang up."""
        self.writer.close()
