"""Models of the Transformers library: from a folder or by their name on a hub, with an identity that is their content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError, MissingPartError

T = TypeVar("T")
EXTRA = "transformers"


def transformers_library() -> Any:
    """The library itself; its absence is an error that names the extra."""
    try:
        import torch  # noqa: F401  # only whether it is there
        import transformers
    except ImportError as error:
        raise MissingPartError(
            f"This predictor needs PyTorch and Transformers, and {error.name or 'a part of them'} is not installed.",
            f"Install them with: pip install 'heartfelt[{EXTRA}]'",
        ) from error
    return transformers


def loaded(where: str, load: Callable[[str], T]) -> T:
    """Call ``load`` with the folder or hub name; what goes wrong becomes a message with a fix."""
    folder = Path(where).expanduser()
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{where} is a file, not a folder with a model.", "Give the folder it lies in.")
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise InputError(
            f"{where} holds no model: there is no config.json in it.",
            "Give a folder written by save_pretrained, or a name on the hub such as 'laion/clap-htsat-unfused'.",
        )
    try:
        if not folder.is_dir():
            return load(where)
        with quiet():
            return load(str(folder))
    except Exception as error:  # the library raises errors of many kinds for a model it cannot load
        said = str(error).strip().split("\n")[0][:300].rstrip(".")
        if folder.is_dir():
            raise InputError(
                f"The model in {where} does not load: {said}.",
                "Check that the folder is complete and holds a model of this kind.",
            ) from error
        raise InputError(
            f"The model '{where}' is neither a folder here nor to be had from the hub: {said}.",
            f"Check the name and the connection; or fetch it once where there is one ('hf download {where} "
            "--local-dir DIR') and give the folder.",
        ) from error


def model_of(where: str, kind: Any) -> Any:
    """The model of one class, ready to answer; a folder that lacks some of its weights is refused."""

    def load(place: str) -> Any:
        config = Path(place) / "config.json"
        found = json.loads(config.read_bytes()).get("model_type") if config.is_file() else None
        if found not in {None, kind.config_class.model_type}:
            raise ValueError(f"it is a model of type '{found}', not '{kind.config_class.model_type}'")
        model, told = kind.from_pretrained(place, output_loading_info=True)
        missing = sorted(told["missing_keys"])
        if missing:
            raise ValueError(f"{len(missing)} of its weights are missing, such as {missing[0]}")
        return model.eval()

    return loaded(where, load)


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


def identity_of(where: str, model: Any) -> str:
    """What decides a model's answers: the content of its folder, or its name and revision on the hub."""
    folder = Path(where).expanduser()
    if not folder.is_dir():
        return f"{where}@{getattr(model.config, '_commit_hash', None) or 'unknown'}"
    whole = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in {".json", ".txt", ".safetensors", ".bin", ".model"}:
            with path.open("rb") as file:
                whole.update(f"{path.name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return f"sha256:{whole.hexdigest()}"


def device_of(wanted: str) -> str:
    """Where the model shall run: ``auto`` takes a GPU where there is one."""
    import torch

    if wanted != "auto":
        try:
            return str(torch.zeros(0, device=wanted).device)
        except (RuntimeError, AssertionError) as error:
            raise InputError(
                f"There is no device '{wanted}' here: {str(error).strip().splitlines()[0]}.",
                "Use device=auto, cpu or cuda.",
            ) from error
    return "cuda" if torch.cuda.is_available() else "cpu"


def text_vector(
    model: Any, tokenize: Any, text: str, longest: int
) -> tuple[npt.NDArray[np.float32], str | None]:
    """A text's vector by a model's text encoder, and a remark where only a part of the text was read."""
    import torch

    tokens = tokenize(text, return_tensors="pt", truncation=True, max_length=longest)
    given = {name: tokens[name].to(model.device) for name in ("input_ids", "attention_mask")}
    with torch.inference_mode():
        found = model.get_text_features(**given)
    whole = len(tokenize(text, verbose=False)["input_ids"])
    remark = f"only the first {longest} tokens of the text were read" if whole > longest else None
    return found.pooler_output[0].float().cpu().numpy(), remark
