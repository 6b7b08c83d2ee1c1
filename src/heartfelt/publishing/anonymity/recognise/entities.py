"""Names that no pattern can tell from words, found by a model: Presidio with the spaCy models that the researcher names.

Only on request, and only with the extra ``ner``. A model is asked about every text, whatever its language is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from heartfelt.errors import InputError
from heartfelt.extras import require_extra
from heartfelt.publishing.anonymity.recognise.rule import Finding, Kind

EntitySearch: TypeAlias = Callable[[str], list[Finding]]
_KINDS: Mapping[str, Kind] = {
    "PERSON": "name",
    "EMAIL_ADDRESS": "e-mail",
    "PHONE_NUMBER": "phone number",
    "CREDIT_CARD": "card number",
    "IBAN_CODE": "IBAN",
    "US_SSN": "id number",
    "US_PASSPORT": "id number",
    "US_DRIVER_LICENSE": "id number",
    "UK_NHS": "id number",
    "MEDICAL_LICENSE": "id number",
}
"""What counts as personal: places, dates and nationalities alone do not."""
_SURE = 0.5
"""The score from which Presidio is believed; patterns without a word beside them score less."""


def load_entities(models: Mapping[str, str]) -> EntitySearch:
    """A search by the models, by language; one that finds nothing where there are none."""
    if not models:
        return lambda _text: []
    require_extra("ner")
    import spacy.util
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NlpEngineProvider

    for language, model in models.items():
        if not spacy.util.is_package(model) and not Path(model).is_dir():
            raise _missing(language, model)
    settings = [{"lang_code": language, "model_name": model} for language, model in models.items()]
    engine = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "spacy", "models": settings})
    analyzer = AnalyzerEngine(nlp_engine=engine.create_engine(), supported_languages=list(models))

    def search(text: str) -> list[Finding]:
        return [
            Finding(_KINDS[result.entity_type], result.start, result.end)
            for language in models
            for result in analyzer.analyze(text, language=language, score_threshold=_SURE)
            if result.entity_type in _KINDS
        ]

    return search


def _missing(language: str, model: str) -> InputError:
    return InputError(
        f"--ner: the spaCy model '{model}' for '{language}' is not installed.",
        f"Install it with 'python -m spacy download {model}', or give the folder of a model.",
    )
