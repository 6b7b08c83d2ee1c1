"""A tiny causal language model with random weights behind an OpenAI-compatible server: a real model, saved and loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from heartfelt.predictors.weights.hub import quiet, transformers_library
from tests.predictors.servers import Reply
from tests.predictors.tiny import byte_tokenizer, seeded


def write_tiny_chat(folder: Path) -> Path:
    library = transformers_library()
    config = library.LlamaConfig(
        vocab_size=260,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=4_096,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )
    with quiet():
        seeded(library.LlamaForCausalLM, config, 0).save_pretrained(folder)
        byte_tokenizer(library).save_pretrained(folder)
    return folder


class TinyChat:
    """Fills in a JSON schema: choices by what the model finds likeliest, numbers and words by what it writes."""

    def __init__(self, folder: Path) -> None:
        library = transformers_library()
        with quiet():
            self._model: Any = library.AutoModelForCausalLM.from_pretrained(folder)
            self._tokenize: Any = library.AutoTokenizer.from_pretrained(folder)

    def __call__(self, request: dict[str, Any], count: int) -> Reply:
        del count
        prompt = "\n".join(self._heard(message["content"]) for message in request["messages"])
        schema = request["response_format"]["json_schema"]["schema"]
        content = json.dumps(self._filled(schema, prompt[-1_500:]))
        choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        return Reply(body=json.dumps({"choices": [choice]}).encode())

    def _heard(self, content: Any) -> str:
        """Text as it is; of media the first bytes, which is all this model makes of them."""
        if isinstance(content, str):
            return content
        return "\n".join(part.get("text") or json.dumps(part)[:200] for part in content)

    def _filled(self, schema: dict[str, Any], prompt: str) -> Any:
        if "enum" in schema:
            return max(schema["enum"], key=lambda word: self._likelihood(prompt, word))
        if schema["type"] == "object":
            return {name: self._filled(part, f"{prompt} {name}") for name, part in schema["properties"].items()}
        if schema["type"] == "number":
            low, high = schema["minimum"], schema["maximum"]
            tenths = [low + (high - low) * step / 10 for step in range(11)]
            return max(tenths, key=lambda number: self._likelihood(prompt, f"{number:g}"))
        if schema["type"] == "array":
            return [self._filled(schema["items"], prompt)]
        return self._written(prompt)

    def _likelihood(self, prompt: str, word: str) -> float:
        import torch

        start = self._tokenize(prompt, add_special_tokens=False, verbose=False)["input_ids"]
        tokens = self._tokenize(word, add_special_tokens=False)["input_ids"]
        with torch.inference_mode():
            logits = self._model(torch.tensor([start + tokens])).logits[0].log_softmax(-1)
        places = range(len(start) - 1, len(start) + len(tokens) - 1)
        return float(sum(logits[at, token] for at, token in zip(places, tokens, strict=True)) / len(tokens))

    def _written(self, prompt: str) -> str:
        import torch

        given = torch.tensor([self._tokenize(prompt, add_special_tokens=False, verbose=False)["input_ids"]])
        made = self._model.generate(given, max_new_tokens=8, do_sample=False, attention_mask=torch.ones_like(given))
        return "it says " + str(self._tokenize.decode(made[0, given.shape[1] :], skip_special_tokens=True))
