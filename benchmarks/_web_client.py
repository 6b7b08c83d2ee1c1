"""A load generator in a process of its own: so many connections, each sending its next request when the last is answered.

``python -m benchmarks._web_client plain|heartfelt PORT CONNECTIONS SECONDS`` prints requests per second, the median, the
99th percentile and the CPU seconds it used itself, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import orjson
from tests.web.wire import Wire

from heartfelt.collect.messages.commands import ShowTrial
from heartfelt.collect.simulation import page_reply
from heartfelt.web.serving.client import decode, encode


@dataclass(slots=True)
class Load:
    port: int
    seconds: float
    took: list[float] = field(default_factory=list)
    begin: float = 0.0

    async def wire(self) -> Wire:
        return await Wire.to(self.port)

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
        step = decode(json.loads(await wire.send("GET", "/rate/step")))
        while not isinstance(step, ShowTrial):
            path, body = encode(page_reply("", step, {}))
            step = decode(json.loads(await wire.send("POST", path, json.dumps(body).encode())))
        await self._wait(start)
        # The server closes a connection that was idle for five seconds, as while the others arrived.
        wire = await Wire.to(self.port, wire.cookie)
        log = {"seconds": 2.5, "plays": 1, "first_play": 0.3, "device": "computer"}
        trial: dict[str, Any] = {"kind": "trial", "trial": step.trial, "questions": list(step.questions)}
        while (now := time.perf_counter()) < self.begin + self.seconds and trial["kind"] == "trial":
            values = dict.fromkeys(trial["questions"], 5)
            answer = {"trial": trial["trial"], "key": f"{number}-{trial['trial']}", "values": values, "heard": log}
            content = await wire.send("POST", "/rate/answer", orjson.dumps(answer))
            self.took.append(time.perf_counter() - now)
            trial = orjson.loads(content)["then"]

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
