"""Any predictor behind EmoLia's endpoint contract, for clients that speak it; ``heartfelt.predictors.endpoint`` is one.

POST, to any path, ``{"text", "audio_filename", "audio_base64"}``, or ``audio_stem`` in place of the last two where the server
has the media; the answer is ``{"similarity"}``, or ``{"score"}`` where the predictor gives a value on a scale. With ``texts``
all texts of a stimulus are answered at once with ``{"similarities"}``; where some cannot be, they are null and
``problems`` says why. ``scale``, written as in a study, asks on another scale than yes and no. What is wrong with a request is
told as ``{"problem", "fix"}``. Requests that come at the same time are put to the predictor together.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import socket
import tempfile
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.media.probe import AUDIO, IMAGES
from heartfelt.predictors.names import Names
from heartfelt.predictors.predictor import Ask, Case, Media, Prediction, Predictor
from heartfelt.predictors.retry import Retry
from heartfelt.predictors.work import Outcome, Work
from heartfelt.study.scale import AnyScale, Scale, YesNo

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse

_MOST_TEXTS = 1_000
_LONGEST_NAME = 1_000
_PATIENCE = 16
"""How many times too large a request may be and still be heard to its end."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Where and how to serve a predictor."""

    host: str = "127.0.0.1"
    port: int = 8100
    batch: int | None = None
    """How many requests are put to the predictor at once; what it likes if left out."""
    wait: float = 0.005
    """Seconds a request may wait for others to go with it."""
    waiting: int = 512
    """So many requests may wait; more are told to come back."""
    megabytes: float = 64.0
    """How large a request may be."""
    media: Path | None = None
    """The folder of the media that requests name without sending."""


class Refused(HeartfeltError):
    """A request that cannot be answered, with the status that says so."""

    def __init__(self, status: int, problem: str, fix: str) -> None:
        super().__init__(problem, fix)
        self.status = status


class Batcher:
    """Puts cases that come at the same time to the predictor together."""

    def __init__(self, predictor: Predictor, options: ServerOptions) -> None:
        self._work = Work(predictor, Retry(retries=0))
        self._size = options.batch or predictor.batch
        self._wait = options.wait
        self._lines = max(1, predictor.at_once)
        self._queue: asyncio.Queue[tuple[Case, asyncio.Future[Outcome]]] = asyncio.Queue(options.waiting)
        self._pool = ThreadPoolExecutor(self._lines, thread_name_prefix="predict")
        self._tasks: list[asyncio.Task[None]] = []
        self.batches = 0
        """How many times the predictor was asked."""

    def open(self) -> None:
        """Begin to work."""
        self._tasks = [asyncio.create_task(self._line()) for _ in range(self._lines)]

    async def close(self) -> None:
        """Stop; what still waits is not answered."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def settle(self, case: Case) -> Outcome:
        """What becomes of one case."""
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        try:
            self._queue.put_nowait((case, answer))
        except asyncio.QueueFull:
            raise Refused(503, "Too many requests are waiting.", "Ask again in a moment.") from None
        return await answer

    async def _line(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            taken = [await self._queue.get()]
            if self._queue.qsize() < self._size - 1:
                await asyncio.sleep(self._wait)
            while len(taken) < self._size and not self._queue.empty():
                taken.append(self._queue.get_nowait())
            # Whoever has hung up is not waiting for an answer.
            taken = [(case, answer) for case, answer in taken if not answer.done()]
            if not taken:
                continue
            self.batches += 1
            try:
                outcomes = await loop.run_in_executor(self._pool, self._work, [case for case, _ in taken])
            except Exception as error:  # noqa: BLE001  # the edge: those who wait are told
                for _, answer in taken:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            for (_, answer), outcome in zip(taken, outcomes, strict=True):
                if not answer.done():
                    answer.set_result(outcome)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that makes sense."""

    name: str
    content: bytes | None
    texts: tuple[str, ...]
    together: bool
    scale: Scale


def predictor_app(predictor: Predictor, options: ServerOptions | None = None) -> Starlette:
    """The application that serves a predictor."""
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    options = options or ServerOptions()
    places = _Places(options.media)
    limit = int(options.megabytes * 2**20)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.batcher = Batcher(predictor, options)
        app.state.batcher.open()
        yield
        await app.state.batcher.close()
        predictor.close()

    async def answer(request: Request) -> JSONResponse:
        asked = await asyncio.to_thread(read_request, await _body(request, limit))
        with tempfile.TemporaryDirectory(prefix="heartfelt-") as room:
            case = await asyncio.to_thread(_case, asked, Path(room), places)
            outcome = await request.app.state.batcher.settle(case)
        return JSONResponse(_said(asked, outcome))

    async def about(request: Request) -> JSONResponse:
        del request
        told = {"predictor": predictor.asked or predictor.name, "about": predictor.about}
        return JSONResponse({**told, "identity": predictor.identity})

    async def told(request: Request, error: Exception) -> JSONResponse:
        del request
        return JSONResponse(*_refusal(error), headers=_later(error))

    return Starlette(
        routes=[
            Route("/", about, methods=["GET"]),
            Route("/{path:path}", answer, methods=["POST"]),
        ],
        lifespan=lifespan,
        exception_handlers={HeartfeltError: told, 404: told, 405: told, 500: told},
    )


def serve_predictor(
    predictor: Predictor,
    options: ServerOptions | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until stopped; ``ready`` hears the address."""
    import uvicorn

    options = options or ServerOptions()
    app = predictor_app(predictor, options)
    with _listening(options) as listener:
        port = listener.getsockname()[1]
        if ready is not None:
            host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(options.host, options.host)
            ready(f"http://{host}:{port}")
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=5)
        uvicorn.Server(config).run(sockets=[listener])


def read_request(body: bytes) -> _Asked:
    """What a request asks; raise with what is wrong with it."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(
            400, "The request is not JSON.", 'Post {"text", "audio_filename", "audio_base64"}.'
        ) from None
    if not isinstance(content, dict):
        raise Refused(
            422, "The request is no JSON object.", 'Post {"text", "audio_filename", "audio_base64"}.'
        )
    together = "texts" in content
    texts = content["texts"] if together else [content.get("text")]
    if not isinstance(texts, list) or not 1 <= len(texts) <= _MOST_TEXTS:
        raise Refused(422, "'texts' is no list of texts.", f"Send 1 to {_MOST_TEXTS} texts.")
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise Refused(422, "A text is missing, empty or no text.", "Send 'text', or a list 'texts'.")
    encoded = content.get("audio_base64")
    name = content.get("audio_filename") or content.get("audio_stem")
    if not isinstance(name, str) or len(name) > _LONGEST_NAME:
        raise Refused(
            422, "The stimulus has no name.", "Send 'audio_filename', or 'audio_stem' without audio."
        )
    return _Asked(name, _decoded(encoded), tuple(texts), together, _scale(content.get("scale")))


def _decoded(encoded: Any) -> bytes | None:
    if encoded is None:
        return None
    try:
        content = base64.b64decode(encoded, validate=True) if isinstance(encoded, str) else b""
    except (binascii.Error, ValueError):
        content = b""
    if not content:
        raise Refused(422, "'audio_base64' is not base64, or empty.", "Encode the file's bytes as base64.")
    return content


def _scale(given: Any) -> Scale:
    from pydantic import TypeAdapter, ValidationError

    if given is None:
        return YesNo(type="yes-no")
    try:
        made: Scale = TypeAdapter[AnyScale](AnyScale).validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise Refused(
            422,
            f"'scale' is no scale: {first['msg']} ({'.'.join(map(str, first['loc'])) or 'scale'}).",
            'Write it as in a study, such as {"type": "points", "points": 9}, or leave it out.',
        ) from None
    return made


def _case(asked: _Asked, room: Path, places: _Places) -> Case:
    ending = PurePosixPath(asked.name).suffix.lower()
    ending = ending if ending in AUDIO | IMAGES else ""
    media: Media | None = None
    if asked.content is not None:
        path = room / f"media{ending}"
        path.write_bytes(asked.content)
        media = Media(path)
    else:
        media = places.find(asked.name)
    about = {"media": "image" if ending in IMAGES else "audio"}
    asks = tuple(
        Ask(f"text {place}", asked.scale, text, text, about) for place, text in enumerate(asked.texts, 1)
    )
    return Case(asked.name, asks, media)


class _Places:
    """The media the server has, by any unmistakable form of their name."""

    def __init__(self, folder: Path | None) -> None:
        self._paths: dict[str, Path] = {}
        if folder is not None:
            if not folder.is_dir():
                raise InputError(f"There is no folder {folder}.", "Give the folder the media lie in.")
            found = (path for path in sorted(folder.rglob("*")) if path.is_file())
            self._paths = {path.relative_to(folder).as_posix(): path for path in found}
        self._names = Names(self._paths)

    def find(self, name: str) -> Media | None:
        """The media of that name, if there are any."""
        found = self._names.find(name)
        return None if found is None else Media(self._paths[found])


def _said(asked: _Asked, outcome: Outcome) -> dict[str, Any]:
    said = outcome.predictions
    if all(one.problem is not None for one in said):
        raise Refused(
            503 if outcome.lost else 422,
            said[0].problem or "",
            "Ask again in a moment." if outcome.lost else "Send what the predictor can answer.",
        )
    if not asked.together:
        return {"similarity" if said[0].score is not None else "score": _number(said[0]), **_more(said[0])}
    answer: dict[str, Any] = {"similarities": [_number(one) for one in said]}
    if any(one.problem for one in said):
        answer["problems"] = [one.problem for one in said]
    return answer


def _number(said: Prediction) -> float | None:
    return said.score if said.score is not None else said.value


def _more(said: Prediction) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "value": said.value,
        "answer": said.answer,
        "reason": said.reason,
        "note": said.note,
    }
    parts["shares"] = dict(said.shares) if said.shares is not None else None
    return {name: part for name, part in parts.items() if part is not None}


async def _body(request: Request, limit: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        # What is too much is read and dropped: a client that is cut off while sending never hears why.
        if size <= limit:
            parts.append(part)
        elif size > _PATIENCE * limit:
            break
    if size > limit:
        raise Refused(413, f"The request is larger than {limit / 2**20:.3g} MB.", "Send a smaller file.")
    return b"".join(parts)


def _refusal(error: Exception) -> tuple[dict[str, str], int]:
    """What to answer for an error: its words, and its status."""
    if isinstance(error, HeartfeltError):
        status = error.status if isinstance(error, Refused) else 422
        return {"problem": error.problem, "fix": error.fix}, status
    status = getattr(error, "status_code", 500)
    if status == 500:
        problem = f"The server failed: {type(error).__name__}."
        return {"problem": problem, "fix": "Look into the server's log; ask again."}, 500
    return {
        "problem": f"There is nothing here ({status}).",
        "fix": "POST to /, or GET / to see what is served.",
    }, status


def _later(error: Exception) -> dict[str, str]:
    return {"retry-after": "1"} if isinstance(error, Refused) and error.status == 503 else {}


def _listening(options: ServerOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((options.host, options.port))
    except OSError as error:
        listener.close()
        raise InputError(
            f"Cannot listen on {options.host}:{options.port}: {error.strerror or error}.",
            "Choose another port with --port, or an address of this machine with --host.",
        ) from error
    listener.listen(2_048)
    return listener
