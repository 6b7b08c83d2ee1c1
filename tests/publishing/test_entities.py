"""Names found by a model: only on request, with the extra, and with a model that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartfelt.cli import main
from heartfelt.errors import InputError, MissingPartError
from heartfelt.extras import is_installed
from heartfelt.publishing.anonymity.recognise.entities import load_entities
from heartfelt.publishing.anonymity.recognise.rule import Finding
from tests.facts import mentions

needs_presidio = pytest.mark.skipif(
    not is_installed("presidio_analyzer"), reason="presidio-analyzer is not installed: pip install -e '.[ner]'"
)


def test_without_models_nothing_is_searched_or_imported() -> None:
    assert load_entities({})("I am Qwxyz") == []


def test_the_extra_is_named_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("heartfelt.extras.is_installed", lambda _: False)
    with pytest.raises(MissingPartError, match=r"\[ner\]'"):
        load_entities({"en": "en_core_web_lg"})
    words = ["publish", str(tmp_path), str(tmp_path / "out"), "--ner", "en=en_core_web_lg"]
    assert main(words) == 2
    assert "[ner]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@needs_presidio
@pytest.mark.slow
def test_a_model_that_is_not_there_is_named_with_the_command_that_fetches_it() -> None:
    with pytest.raises(InputError, match=r"model.*'en_core_web_xx'") as caught:
        load_entities({"en": "en_core_web_xx"})
    assert mentions(caught.value.fix, "download", "en_core_web_xx")


@needs_presidio
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_model_finds_names_that_no_list_has(tmp_path: Path) -> None:
    import spacy

    model = spacy.blank("en")
    ruler = model.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "PERSON", "pattern": "Qwxyz"}, {"label": "GPE", "pattern": "Berlin"}])
    model.to_disk(tmp_path / "tiny")
    search = load_entities({"en": str(tmp_path / "tiny")})
    assert search("then Qwxyz sang in Berlin") == [Finding("name", 5, 10)], "a place alone is no personal data"
    assert search("nobody sang") == []
