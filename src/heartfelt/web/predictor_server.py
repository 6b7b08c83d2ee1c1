"""Any predictor behind EmoLia's endpoint contract, for clients that speak it; ``heartfelt.predictors.hosted.endpoint`` is one.

POST, to any path, ``{"text", "audio_filename", "audio_base64"}``, or ``audio_stem`` in place of the last two where the server
has the media; the answer is ``{"similarity"}``, or ``{"score"}`` where the predictor gives a value on a scale. With ``texts``
all texts of a stimulus are answered at once with ``{"similarities"}``; those that cannot be answered are null and
``problems`` says why. ``scale``, written as in a study, asks on another scale than yes and no; a ``trace`` is answered with
``{"samples", "rate", "start"}`` where the predictor gives one. ``members``, a list of ``{"audio_filename", "audio_base64"}`` in
place of a single file, asks a predictor that compares about a set, with a ``scale`` such as ``{"type": "choice"}``; the answer
is ``{"members"}``, the value of each in the order sent, or ``{"shares"}``, their probabilities with that of a ``tie`` last.

What is wrong with a request is answered as ``{"problem", "fix"}``. Requests that come at the same time are put to the predictor
together.
"""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Self

from heartfelt.errors import HeartfeltError, InputError
from heartfelt.media.probe import AUDIO, IMAGES
from heartfelt.predictors.answers.sets import COMPARED, set_name
from heartfelt.predictors.answers.texts import StimulusNames
from heartfelt.predictors.execution.work import CaseOutcome, PredictorWork, Retry
from heartfelt.predictors.interface.predictor import Ask, Case, Media, Prediction, Predictor
from heartfelt.predictors.options import ServerOptions
from heartfelt.study.scales.answer import Scale
from heartfelt.study.scales.scale import AnyScale, YesNo
from heartfelt.study.scales.set_scale import TIE

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse

_MOST_TEXTS = 1_000
_MAX_NAME_LENGTH = 1_000
_MOST_MEMBERS = 20
_READ_AT_MOST = 16
"""How many times too large a request may be and still be read to its end."""
_EXAMPLE = 'Post {"text", "audio_filename", "audio_base64"}.'


class RefusedRequest(HeartfeltError):
    """A request that cannot be answered, with the HTTP status."""

    def __init__(self, problem: str, fix: str, status: int = 422) -> None:
        super().__init__(problem, fix)
        self.status = status


class Batcher:
    """Puts cases that come at the same time to the predictor together."""

    def __init__(self, predictor: Predictor, options: ServerOptions) -> None:
        self._work = PredictorWork(predictor, Retry(retries=0))
        self._size = options.batch or predictor.batch
        self._wait = options.wait / 1000
        self._lanes = max(1, predictor.at_once)
        self._queue: asyncio.Queue[tuple[Case, asyncio.Future[CaseOutcome]]] = asyncio.Queue(options.waiting)
        self._pool = ThreadPoolExecutor(self._lanes, thread_name_prefix="predict")
        self._tasks: list[asyncio.Task[None]] = []
        self.batches = 0
        """How many times the predictor was asked."""

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._lane()) for _ in range(self._lanes)]
        return self

    async def __aexit__(self, *_: object) -> None:
        # What still waits is not answered.
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def settle(self, case: Case) -> CaseOutcome:
        answer: asyncio.Future[CaseOutcome] = asyncio.get_running_loop().create_future()
        try:
            self._queue.put_nowait((case, answer))
        except asyncio.QueueFull:
            raise RefusedRequest("Too many requests are waiting.", "Ask again in a moment.", 503) from None
        return await answer

    async def _lane(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            batch = [await self._queue.get()]
            # Waiting only helps where the batch is not full already.
            if self._queue.qsize() < self._size - 1:
                await asyncio.sleep(self._wait)
            while len(batch) < self._size and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            # A client that has hung up is not waiting for an answer.
            batch = [(case, answer) for case, answer in batch if not answer.done()]
            if not batch:
                continue
            self.batches += 1
            try:
                outcomes = await loop.run_in_executor(self._pool, self._work, [case for case, _ in batch])
            except Exception as error:  # noqa: BLE001  # the edge: every waiting client gets the error
                for _, answer in batch:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            for (_, answer), outcome in zip(batch, outcomes, strict=True):
                if not answer.done():
                    answer.set_result(outcome)


def predictor_app(predictor: Predictor, options: ServerOptions | None = None) -> Starlette:
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    options = options or ServerOptions()
    stored = _media_in(options.media)
    limit = int(options.megabytes * 2**20)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with Batcher(predictor, options) as app.state.batcher:
            yield
        predictor.close()

    async def answer(request: Request) -> JSONResponse:
        query = await asyncio.to_thread(read_request, await _body(request, limit))
        if query.members and not predictor.compares:
            raise RefusedRequest(
                "This predictor judges single stimuli.", "Ask about each; the larger number is the one to choose."
            )
        with tempfile.TemporaryDirectory(prefix="heartfelt-") as folder:
            case = await asyncio.to_thread(_case, query, Path(folder), stored)
            outcome = await request.app.state.batcher.settle(case)
        return JSONResponse(_answer(query, outcome))

    async def about(_: Request) -> JSONResponse:
        facts = {"predictor": predictor.spec or predictor.name, "about": predictor.about}
        return JSONResponse({**facts, "identity": predictor.identity})

    async def failed(_: Request, error: Exception) -> JSONResponse:
        if isinstance(error, HeartfeltError):
            status = error.status if isinstance(error, RefusedRequest) else 422
            problem, fix = error.problem, error.fix
        else:
            status = getattr(error, "status_code", 500)
            problem, fix = f"There is nothing here ({status}).", "POST to /, or GET / to see what is served."
            if status == 500:
                problem, fix = (f"The server failed: {type(error).__name__}.", "See the server's log; ask again.")
        headers = {"retry-after": "1"} if status == 503 else {}
        return JSONResponse({"problem": problem, "fix": fix}, status, headers)

    return Starlette(
        routes=[Route("/", about, methods=["GET"]), Route("/{path:path}", answer, methods=["POST"])],
        lifespan=lifespan,
        exception_handlers={HeartfeltError: failed, 404: failed, 405: failed, 500: failed},
    )


def serve_predictor(
    predictor: Predictor, options: ServerOptions | None = None, ready: Callable[[str], None] | None = None
) -> None:
    """Serve until stopped; ``ready`` is called with the address."""
    import uvicorn

    options = options or ServerOptions()
    app = predictor_app(predictor, options)
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        listener = socket.create_server((options.host, options.port), family=family, backlog=2_048)
    except OSError as error:
        raise InputError(
            f"Cannot listen on {options.host}:{options.port}: {(error.strerror or str(error)).partition(' (while')[0]}.",
            "Choose another port with --port, or an address of this machine with --host.",
        ) from error
    with listener:
        port = listener.getsockname()[1]
        if ready is not None:
            host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(options.host, options.host)
            ready(f"http://{host}:{port}")
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=5)
        uvicorn.Server(config).run(sockets=[listener])


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A valid request."""

    name: str
    content: bytes | None
    texts: tuple[str, ...]
    together: bool
    """Whether all texts are answered at once."""
    scale: Scale
    members: tuple[tuple[str, bytes | None], ...] = ()
    """Name and content of the stimuli that are judged together."""


def read_request(body: bytes) -> Query:
    """What a request asks; raise with what is wrong with it."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedRequest("The request is not JSON.", _EXAMPLE, 400) from None
    if not isinstance(content, dict):
        raise RefusedRequest("The request is not a JSON object.", _EXAMPLE)
    together = "texts" in content
    texts = _texts(content["texts"] if together else [content.get("text")])
    scale = _scale(content.get("scale"))
    if "members" in content:
        return _comparison(content["members"], texts, scale, together=together)
    name, stimulus = _file(content)
    return Query(name=name, content=stimulus, texts=texts, together=together, scale=scale)


def _texts(texts: object) -> tuple[str, ...]:
    if not isinstance(texts, list) or not 1 <= len(texts) <= _MOST_TEXTS:
        raise RefusedRequest("'texts' is not a list of texts.", f"Send 1 to {_MOST_TEXTS} texts.")
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise RefusedRequest("A text is missing, empty or not a text.", "Send 'text', or a list 'texts'.")
    return tuple(texts)


def _comparison(files: object, texts: tuple[str, ...], scale: Scale, *, together: bool) -> Query:
    """A question about stimuli that are judged together."""
    if not isinstance(files, list) or not 2 <= len(files) <= _MOST_MEMBERS:
        raise RefusedRequest("'members' is not a list of stimuli.", f"Send 2 to {_MOST_MEMBERS} of them.")
    members = tuple(_file(member if isinstance(member, dict) else {}) for member in files)
    if len({name for name, _ in members}) < len(members):
        raise RefusedRequest("Two members have the same name.", "A stimulus is not compared with itself.")
    if not isinstance(scale, COMPARED) or together:
        raise RefusedRequest(
            "Members are compared on a scale for sets, one question at a time.",
            'Send one \'text\' and a scale such as {"type": "choice"}.',
        )
    name = set_name(name for name, _ in members)
    return Query(name=name, content=None, texts=texts, together=together, scale=scale, members=members)


def _file(content: Mapping[str, object]) -> tuple[str, bytes | None]:
    """The name and the content of a stimulus."""
    name = content.get("audio_filename") or content.get("audio_stem")
    if not isinstance(name, str) or len(name) > _MAX_NAME_LENGTH:
        raise RefusedRequest("The stimulus has no name.", "Send 'audio_filename', or 'audio_stem' without audio.")
    return name, _decoded(content.get("audio_base64"))


def _decoded(encoded: Any) -> bytes | None:
    if encoded is None:
        return None
    if isinstance(encoded, str) and encoded:
        with suppress(ValueError):
            if content := base64.b64decode(encoded, validate=True):
                return content
    raise RefusedRequest("'audio_base64' is not base64, or empty.", "Encode the file's bytes as base64.")


def _scale(json_scale: Any) -> Scale:
    from pydantic import TypeAdapter, ValidationError

    if json_scale is None:
        return YesNo(type="yes-no")
    try:
        scale: Scale = TypeAdapter[AnyScale](AnyScale).validate_python(json_scale)
    except ValidationError as error:
        first = error.errors()[0]
        raise RefusedRequest(
            f"'scale' is not a scale: {first['msg']} ({'.'.join(map(str, first['loc'])) or 'scale'}).",
            'Write it as in a study, such as {"type": "points", "points": 9}, or leave it out.',
        ) from None
    return scale


def _case(query: Query, folder: Path, stored: Callable[[str], Path | None]) -> Case:
    files = query.members or ((query.name, query.content),)
    media = [
        _media(name, content, folder / f"media{number or ''}", stored) for number, (name, content) in enumerate(files)
    ]
    about = {"media": "image" if _suffix(files[0][0]) in IMAGES else "audio"}
    asks = tuple(
        Ask(question=f"text {index}", scale=query.scale, text=text, words=text, about=about)
        for index, text in enumerate(query.texts, 1)
    )
    if not query.members:
        return Case(stimulus=query.name, asks=asks, media=media[0])
    members = (Case(stimulus=name, asks=(), media=file) for (name, _), file in zip(files, media, strict=True))
    return Case(stimulus=query.name, asks=asks, media=None, members=tuple(members))


def _suffix(name: str) -> str:
    suffix = PurePosixPath(name).suffix.lower()
    return suffix if suffix in AUDIO | IMAGES else ""


def _media(name: str, content: bytes | None, stem: Path, stored: Callable[[str], Path | None]) -> Media | None:
    path = stored(name)
    if content is not None:
        path = stem.with_suffix(_suffix(name))
        path.write_bytes(content)
    return None if path is None else Media(path)


def _media_in(folder: Path | None) -> Callable[[str], Path | None]:
    """A function that finds the media in a folder by any unambiguous form of their name."""
    if folder is None:
        return lambda _: None
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.", "Give the folder that holds the media.")
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    names = StimulusNames(paths)
    return lambda name: paths.get(names.find(name) or "")


def _answer(query: Query, outcome: CaseOutcome) -> dict[str, object]:
    first = outcome.predictions[0]
    numbers = [prediction.value if prediction.score is None else prediction.score for prediction in outcome.predictions]
    problems = [prediction.problem for prediction in outcome.predictions]
    if None not in problems:
        fix = "Ask again in a moment." if outcome.lost else "Send what the predictor can answer."
        raise RefusedRequest(first.problem or "", fix, 503 if outcome.lost else 422)
    if query.together:
        return {"similarities": numbers} | ({"problems": problems} if any(problems) else {})
    more = _details(first, [name for name, _ in query.members])
    if numbers[0] is None:
        return more
    return {"score" if first.score is None else "similarity": numbers[0], **more}


def _details(prediction: Prediction, members: Sequence[str]) -> dict[str, object]:
    """What else a prediction says; of stimuli that are judged together in the order of the request, a tie after them."""
    parts = ("value", "answer", "reason", "note", "shares", "orders", "samples", "rate", "start")
    more = {name: part for name in parts if (part := getattr(prediction, name)) is not None}
    if prediction.members is not None:
        more["members"] = [prediction.members[name] for name in members]
    if members and prediction.shares is not None:
        more["shares"] = [prediction.shares.get(name, 0.0) for name in (*members, TIE)]
    return more


async def _body(request: Request, limit: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        # The excess is read and dropped: a client that is cut off while sending never learns why.
        if size <= limit:
            parts.append(part)
        elif size > _READ_AT_MOST * limit:
            break
    if size > limit:
        raise RefusedRequest(f"The request is larger than {limit / 2**20:.3g} MB.", "Send a smaller file.", 413)
    return b"".join(parts)
