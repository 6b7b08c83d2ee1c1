"""The language model itself: loading it, its chat template, and its adapters (PEFT LoRA)."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from heartfelt.errors import InputError, suggestion
from heartfelt.failures import error_summary, is_bug
from heartfelt.predictors.weights.hub import identity_of, loaded_from, transformers_library
from heartfelt.serialization import dumps

_log = logging.getLogger(__name__)
_CLASSES = {"image": "AutoModelForImageTextToText", "audio": "AutoModelForMultimodalLM"}
_LIBRARY_PARTS = {"image": "image_processor", "audio": "feature_extractor"}
_Message: TypeAlias = dict[str, object]
_NOUNS = {"image": "images", "audio": "sound"}


def language_model(where: str, revision: str, medium: str) -> tuple[Any, Any]:
    """A model that reads images or sound, and its processor; anything else is refused with what it is."""
    library = transformers_library()
    more = {} if Path(where).expanduser().is_dir() else {"revision": revision}
    kind = getattr(library, _CLASSES[medium])

    def load(source: str) -> Any:
        model, loading = kind.from_pretrained(source, output_loading_info=True, **more)
        if missing := sorted(loading["missing_keys"]):
            raise ValueError(f"{len(missing)} of its weights are missing, such as {missing[0]}")
        return model.eval()

    config = loaded_from(where, lambda source: library.AutoConfig.from_pretrained(source, **more), revision)
    if type(config) not in kind._model_mapping:
        raise InputError(
            f"'{where}' is a model of type '{config.model_type}', which does not read {_NOUNS[medium]}.",
            f"Give a language model that reads {_NOUNS[medium]} and text: --set model=NAME.",
        )
    processor = loaded_from(where, lambda source: library.AutoProcessor.from_pretrained(source, **more), revision)
    if getattr(processor, _LIBRARY_PARTS[medium], None) is None or not hasattr(processor, "tokenizer"):
        raise InputError(
            f"'{where}' has no processor for {_NOUNS[medium]} and text.",
            "Give a folder or hub name that has the model's processor too.",
        )
    if not getattr(processor, "chat_template", None):
        raise InputError(
            f"The processor of '{where}' has no chat template: how a conversation is written is not known.",
            "Use the instruction-tuned version of the model, or add its chat_template.jinja to the folder.",
        )
    return loaded_from(where, load, revision), processor


def base_identity(where: str, model: Any, processor: Any) -> str:
    """What decides how a base model answers: its folder's content, or name and revision; and its chat template."""
    template = hashlib.sha256(dumps(processor.chat_template).encode()).hexdigest()
    return f"{identity_of(where, model)} template {template[:16]}"


class Conversations:
    """How a model's own chat template writes a conversation about one image or sound."""

    def __init__(self, processor: Any, medium: str) -> None:
        self.processor, self.medium = processor, medium
        self.tokenizer = processor.tokenizer
        unmarked, marked = (self.tokenizer("a", add_special_tokens=special)["input_ids"] for special in (False, True))
        # A tokenizer that ends every text would put the end before the answer.
        self._adds_end = unmarked[-1] != marked[-1]
        written = self._written("question", "system", "answer")
        if written is None:
            raise InputError(
                f"The model's chat template has no place for {_NOUNS[medium]} with a question.",
                "Use another model, or repair its chat_template.jinja.",
            )
        self._apart, self._listed, self.end = written

    def _written(self, question: str, system: str, answer: str) -> tuple[bool, bool, str] | None:
        """Whether the template takes a system's message and lists of parts, and what it writes after an answer."""
        for separate in (True, False):
            for listed in (True, False):
                self._apart, self._listed = separate, listed
                try:
                    prompt = self.prompt(question, system)
                    bare = self._rendered(self._messages(question, system, medium=False), answer=None)
                    rendered = self._rendered(self._messages(question, system), answer=answer)
                except Exception as error:  # templates raise errors of many kinds; the next form is tried
                    if is_bug(error):
                        raise
                    _log.debug("the chat template refuses a form: %s", error_summary(error))
                    continue
                if question in prompt and system in prompt and prompt != bare and answer in rendered:
                    # Templates that write something else before a finished answer end it as they end any.
                    return separate, listed, rendered[rendered.rindex(answer) + len(answer) :]
        return None

    def _messages(self, question: str, system: str, *, medium: bool = True) -> list[_Message]:
        words = question if self._apart else f"{system}\n\n{question}"
        parts = [{"type": self.medium}] if medium else []
        user: _Message = {"role": "user", "content": [*parts, {"type": "text", "text": words}]}
        return [self._message("system", system), user] if self._apart else [user]

    def _message(self, role: str, text: str) -> _Message:
        return {"role": role, "content": [{"type": "text", "text": text}] if self._listed else text}

    def _rendered(self, messages: list[_Message], *, answer: str | None) -> str:
        more = [] if answer is None else [self._message("assistant", answer)]
        return str(
            self.processor.apply_chat_template([*messages, *more], tokenize=False, add_generation_prompt=answer is None)
        )

    def prompt(self, question: str, system: str) -> str:
        return self._rendered(self._messages(question, system), answer=None)

    def answer_tokens(self, answer: str) -> tuple[int, ...]:
        """An answer and the end of the model's turn as tokens."""
        end = self.end.rstrip() or self.tokenizer.eos_token or ""
        return tuple(self.tokenizer(f"{answer}{end}", add_special_tokens=False)["input_ids"])

    def inputs(self, prompts: Sequence[str], media: Sequence[Any]) -> Mapping[str, Any]:
        """What the model's processor makes of conversations, each about one image or sound."""
        media_inputs: dict[str, object] = {"images": [[medium] for medium in media]}
        if self.medium == "audio":
            media_inputs = {"audio": list(media), "sampling_rate": self.rate}
        start = self.tokenizer.bos_token
        special = not self._adds_end and (start is None or not prompts[0].startswith(start))
        inputs: Mapping[str, Any] = self.processor(
            text=list(prompts), padding=True, add_special_tokens=special, return_tensors="pt", **media_inputs
        )
        return inputs

    @property
    def rate(self) -> int:
        """The sampling rate the model hears."""
        return int(self.processor.feature_extractor.sampling_rate)


def with_adapters(
    model: Any, modules: Sequence[str], *, rank: int, alpha: float, dropout: float, everywhere: bool
) -> Any:
    """The model with LoRA adapters on the linear layers of these names, of its language part or of all parts."""
    import torch
    from peft import LoraConfig, get_peft_model

    language = model if everywhere else model.get_decoder()
    inside = {id(part) for part in language.modules()}
    layers = [name for name, part in model.named_modules() if isinstance(part, torch.nn.Linear) and id(part) in inside]
    chosen = [name for name in layers if any(name == module or name.endswith(f".{module}") for module in modules)]
    if not chosen:
        layer_names = sorted({name.rpartition(".")[2] for name in layers})
        where = "the model" if everywhere else "the language part of the model"
        raise InputError(
            f"No linear layer of {where} is called {' or '.join(modules) or 'by an empty list of names'}.",
            suggestion(modules[0] if modules else "", layer_names, "Its layers (--set target_modules=NAME,NAME)"),
        )
    config = LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=dropout, target_modules=chosen, bias="none")
    return get_peft_model(model, config)


def recompute_activations(model: Any) -> None:
    """Keep only what goes into each layer and compute the rest again for the gradients; the numbers stay the same."""
    base = model.get_base_model()
    if not getattr(base, "supports_gradient_checkpointing", False):
        raise InputError(
            f"Models of the type '{base.config.model_type}' cannot compute activations again.",
            "Leave out gradient_checkpointing; a smaller batch (--set accumulate=16) needs less memory too.",
        )
    base.gradient_checkpointing_enable({"use_reentrant": False})


def adapters_from(folder: Path, model: Any) -> Any:
    """The model with untrained adapters of the form a folder describes."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig.from_pretrained(str(folder))
    config.inference_mode = False
    return get_peft_model(model, config)
