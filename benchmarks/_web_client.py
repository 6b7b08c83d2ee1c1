"""A load generator in a process of its own: so many connections, each sending its next request when the last is answered.

``python -m benchmarks._web_client plain|heartfelt PORT CONNECTIONS SECONDS`` prints requests a second, the median, the
99th percentile and the CPU seconds it used itself, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class Wire:
    """One kept-alive HTTP connection: the least that speaks HTTP/1.1, so that the server is what is measured."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    cookie: str = ""

    async def send(self, method: str, path: str, body: bytes = b"") -> bytes:
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
            raise RuntimeError(f"{method} {path}: {status} {content[:300]!r}")
        return content


@dataclass(slots=True)
class Load:
    port: int
    seconds: float
    took: list[float] = field(default_factory=list)
    begin: float = 0.0

    async def wire(self) -> Wire:
        return Wire(*await asyncio.open_connection("127.0.0.1", self.port))

    async def plain(self, number: int, start: asyncio.Barrier) -> None:
        """One request stores the last answer and brings the next item."""
        wire = await self.wire()
        body = {"rater": f"r{number}", "item": None, "value": 5}
        body["item"] = json.loads(await wire.send("POST", "/answer", json.dumps(body).encode()))["item"]
        await self._wait(start)
        while (now := time.perf_counter()) < self.begin + self.seconds:
            content = await wire.send("POST", "/answer", json.dumps(body).encode())
            self.took.append(time.perf_counter() - now)
            body["item"] = json.loads(content)["item"]

    async def heartfelt(self, number: int, start: asyncio.Barrier) -> None:
        """The same through the rating pages' own requests: a real session, a real answer."""
        wire = await self.wire()
        await wire.send("GET", "/")
        step = json.loads(await wire.send("GET", "/rate/step"))["step"]
        if step["kind"] == "instructions":
            step = json.loads(await wire.send("POST", "/rate/ready", b"{}"))["step"]
        await self._wait(start)
        count = 0
        while (now := time.perf_counter()) < self.begin + self.seconds:
            count += 1
            body = {
                "trial": step["trial"],
                "key": f"{number}-{count}",
                "values": {"valence": 5},
                "heard": {"seconds": 2.5, "plays": 1, "first_play": 0.3, "device": "computer"},
            }
            content = await wire.send("POST", "/rate/answer", json.dumps(body).encode())
            self.took.append(time.perf_counter() - now)
            step = json.loads(content)["then"]

    async def _wait(self, start: asyncio.Barrier) -> None:
        await start.wait()
        self.begin = self.begin or time.perf_counter()


async def main(kind: str, port: int, connections: int, seconds: float) -> None:
    load = Load(port, seconds)
    start = asyncio.Barrier(connections)
    person = load.plain if kind == "plain" else load.heartfelt
    await asyncio.gather(*(person(number, start) for number in range(connections)))
    took = sorted(load.took)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "per_second": len(took) / seconds,
                "p50": took[len(took) // 2] * 1000,
                "p99": took[int(len(took) * 0.99)] * 1000,
                "cpu": used.ru_utime + used.ru_stime,
            }
        )
    )


if __name__ == "__main__":
    import uvloop

    uvloop.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])))
