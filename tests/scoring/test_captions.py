"""Caption metrics together: missing ones say why, BERTScore with a tiny random model, METEOR with its own program."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heartfelt.errors import InputError, MissingPartError
from heartfelt.scoring.tasks.bert_score import transformers_bert_score
from heartfelt.scoring.tasks.captions import NAMES, caption_scores
from heartfelt.scoring.tasks.java_captions import PARSER, meteor, spice
from heartfelt.stats.texts.text import cider, rouge_l

SOURCE = "Zhang et al. 2020, equations 1 to 3 (BERTScore); METEOR 1.5 as the pycocoevalcap package runs it"
TEXTS = ["a man rides a brown horse", "two dogs play in the park", ""]
REFERENCES = [["a man on a horse", "someone riding a horse"], ["dogs playing outside"], ["a red bird"]]


@pytest.fixture(autouse=True)
def no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEARTFELT_CAPTION_TOOLS", raising=False)


def test_every_metric_has_a_value_or_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTFELT_CAPTION_TOOLS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    scores = caption_scores(TEXTS, REFERENCES)
    assert float(scores.rouge_l) == pytest.approx(float(rouge_l(TEXTS, REFERENCES).mean()))
    assert float(scores.cider) == pytest.approx(float(cider(TEXTS, REFERENCES).mean()))
    assert scores.rouge_l.low == 0.0, "bounds stay in the metric's range"
    assert scores.bert_score.why_missing == "no model was named"
    for missing in (scores.meteor, scores.spice):
        assert missing.why_missing is not None
        assert "jar" in missing.why_missing or "Java" in missing.why_missing
    assert set(NAMES) == {"bleu_1", "bleu_4", "rouge_l", "cider", "meteor", "spice", "bert_score"}


def test_no_texts_and_one_text() -> None:
    assert caption_scores([], []).cider.why_missing == "no texts"
    one = caption_scores(TEXTS[:1], REFERENCES[:1])
    assert one.cider.is_missing
    assert one.rouge_l.why_no_interval == "one item"


def test_files_that_are_missing_are_named(tmp_path: Path) -> None:
    (tmp_path / "meteor-1.5.jar").write_bytes(b"")
    with pytest.raises(MissingPartError, match="paraphrase-en"):
        meteor(TEXTS, REFERENCES, tmp_path)
    (tmp_path / "spice-1.0.jar").write_bytes(b"")
    with pytest.raises(MissingPartError, match="stanford-corenlp"):
        spice(TEXTS, REFERENCES, tmp_path)


def stand_in(folder: Path, body: str) -> None:
    """A program called ``java``, and the files that the metrics look for."""
    (folder / "lib").mkdir()
    (folder / "data").mkdir()
    for name in ("meteor-1.5.jar", "spice-1.0.jar", "data/paraphrase-en.gz", *(f"lib/{jar}" for jar in PARSER)):
        (folder / name).write_bytes(b"")
    (folder / "java").write_text(f"#!/usr/bin/env python3\n{body}", encoding="utf-8")
    (folder / "java").chmod(0o755)


@pytest.mark.slow
def test_spice_reads_what_its_program_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = """import json, sys
rows = json.load(open(sys.argv[4]))
made = [{"image_id": r["image_id"], "scores": {"All": {"f": len(r["refs"]) / 4}}} for r in reversed(rows)]
json.dump(made, open(sys.argv[6], "w"))
"""
    stand_in(tmp_path, body)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert spice(TEXTS, REFERENCES, tmp_path).tolist() == [0.5, 0.25, 0.25]


@pytest.mark.slow
def test_a_program_that_fails_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, "import sys; sys.exit('Unsupported class file')\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    scores = caption_scores(TEXTS, REFERENCES, tools=tmp_path)
    assert scores.spice.why_missing is not None
    assert "Unsupported class file" in scores.spice.why_missing
    assert scores.meteor.why_missing is not None
    assert "stopped without an answer" in scores.meteor.why_missing


@pytest.mark.slow
def test_meteor_equals_pycocoevalcap_or_is_missing_with_the_reason() -> None:
    scores = caption_scores(TEXTS, REFERENCES)
    if shutil.which("java") is None or importlib.util.find_spec("pycocoevalcap") is None:
        assert scores.meteor.why_missing is not None
        return
    # Recorded from pycocoevalcap 1.2 on the same words.
    assert meteor(TEXTS, REFERENCES) == pytest.approx([0.35573127649071495, 0.242625860074832, 0.0], rel=1e-9)


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    transformers = pytest.importorskip("transformers")
    torch: Any = pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("encoder")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted({w for t in TEXTS for w in t.split()})]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=32,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    settings = {"tokenizer_class": "BertTokenizer", "model_max_length": 32}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder


@pytest.mark.slow
def test_bert_score_with_a_named_model(tiny_model: Path) -> None:
    same = transformers_bert_score(TEXTS, [[text] for text in TEXTS], str(tiny_model))
    assert same == pytest.approx([1.0, 1.0, 0.0], abs=1e-5), "an empty text scores 0"
    others = transformers_bert_score(TEXTS, REFERENCES, str(tiny_model))
    assert (others[:2] < 1.0).all()
    # The input layer has no context: a text scores 1 with its words in another order only without positions.
    first = transformers_bert_score(TEXTS, REFERENCES, str(tiny_model), layer=0)
    assert not np.allclose(first, others)
    # A best reference is never worse than one of them.
    single = transformers_bert_score(TEXTS[:1], [REFERENCES[0][:1]], str(tiny_model))
    assert others[0] >= single[0] - 1e-6


@pytest.mark.slow
def test_bad_models_and_layers(tiny_model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="layer 9"):
        transformers_bert_score(TEXTS, REFERENCES, str(tiny_model), layer=9)
    missing = caption_scores(TEXTS, REFERENCES, bert_model=str(tmp_path)).bert_score
    assert missing.why_missing is not None
    assert "config.json" in missing.why_missing
