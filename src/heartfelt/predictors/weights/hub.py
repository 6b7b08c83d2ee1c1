"""Models of the Transformers library by folder or by name on the hub: loading them, and what identifies them.

What goes wrong while loading becomes a message with a fix. The library itself is imported when it is first needed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from heartfelt.errors import HeartfeltError, InputError, MissingPartError
from heartfelt.extras import install_command
from heartfelt.files import sha256_of
from heartfelt.predictors.weights.network import (
    PullError,
    hub_access,
    hub_copy_hint,
    hub_library,
    is_path,
    require_stored_offline,
)

T = TypeVar("T")


def transformers_library(*models: str) -> Any:
    """The library itself; its absence is an error that names the extra.

    It takes seconds to load: ``models`` that will be needed and cannot be there offline are reported before.
    """
    for model in models:
        require_stored_offline(model)
    try:
        import torch  # noqa: F401  # only whether it is there
        import transformers
    except ImportError as error:
        raise MissingPartError(
            f"This needs PyTorch and Transformers, and {error.name or 'a part of them'} is not installed.",
            f"Install them with: {install_command('transformers')}",
        ) from error
    return transformers


def loaded_from(where: str, load: Callable[[str], T], revision: str | None = None, *, config: bool = True) -> T:
    """Call ``load`` with the folder or hub name; what goes wrong becomes a message with a fix.

    ``revision`` is the one that ``load`` asks the hub for; ``config`` is whether a folder must have a ``config.json``.
    """
    folder = Path(where).expanduser()
    _check_folder(folder, where, config=config)
    stored_only = None
    try:
        with hub_access(where, revision) as stored_only:
            if not folder.is_dir():
                return load(where)
            with quiet():
                return load(str(folder))
    except HeartfeltError:
        raise
    except Exception as error:  # the library raises errors of many kinds for a model it cannot load
        reason = str(error).strip().split("\n")[0][:300].rstrip(".")
        if stored_only is not None:
            problem = f"What is stored of '{where}' does not load, and {stored_only}: {reason}."
            raise PullError(problem, hub_copy_hint(where)) from error
        problem = f"The model '{where}' is neither a folder here nor available from the hub: {reason}."
        fix = "Check the name and the connection; or fetch it once where there is one"
        fix += f" ('hf download {where} --local-dir DIR') and give the folder."
        if folder.is_dir():
            problem = f"The model in {where} does not load: {reason}."
            fix = "Check that the folder is complete and holds a model of this kind."
        raise InputError(problem, fix) from error


def _check_folder(folder: Path, where: str, *, config: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{where} is a file, not a folder with a model.", "Give the folder that holds it.")
    if config and folder.is_dir() and not (folder / "config.json").is_file():
        raise InputError(
            f"{where} holds no model: it has no config.json.",
            "Give a folder written by save_pretrained, or a name on the hub (OWNER/NAME).",
        )
    if not folder.exists() and is_path(where):
        raise InputError(
            f"There is no folder {where}.", "Give a folder with a model, or a name on the hub such as owner/name."
        )


def model_of(where: str, kind: Any) -> Any:
    """The model of one class, ready to answer; a folder that lacks some of its weights is refused."""

    def load(location: str) -> Any:
        config = Path(location) / "config.json"
        stored_type = json.loads(config.read_bytes()).get("model_type") if config.is_file() else None
        if stored_type not in {None, kind.config_class.model_type}:
            raise ValueError(f"it is a model of type '{stored_type}', not '{kind.config_class.model_type}'")
        model, loading = kind.from_pretrained(location, output_loading_info=True)
        missing = sorted(loading["missing_keys"])
        if missing:
            raise ValueError(f"{len(missing)} of its weights are missing, such as {missing[0]}")
        return model.eval()

    return loaded_from(where, load)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the library's bars for what takes no time; fetching from the hub keeps its own."""
    logging = transformers_library().utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def identity_of(where: str, model: Any = None) -> str:
    """What decides a model's answers: the content of its folder, or its name and revision on the hub."""
    folder = Path(where).expanduser()
    if not folder.is_dir():
        commit = getattr(getattr(model, "config", None), "_commit_hash", None)
        return f"{where}@{commit or _stored_revision(where) or 'unknown'}"
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in {".json", ".txt", ".safetensors", ".bin", ".model"}:
            digest.update(f"{path.name}\0{sha256_of(path)}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def _stored_revision(name: str) -> str | None:
    """The commit of a model in the hub's cache, where the library does not tell it."""
    for file in ("config.json", "preprocessor_config.json", "tokenizer_config.json"):
        path = hub_library().try_to_load_from_cache(name, file)
        if isinstance(path, str):
            return Path(path).parent.name
    return None
