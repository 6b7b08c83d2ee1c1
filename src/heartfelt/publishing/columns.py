"""What the columns of published tables mean: from the contracts of the tables, from the study, and from the authors.

Layouts and the codebook describe a column with :func:`about_column`, so that a column means the same wherever it appears.
"""

from __future__ import annotations

from heartfelt.labels.benchmark import BENCHMARK_COURSES, BENCHMARK_ITEMS, CHOICES
from heartfelt.labels.labelling import LABELS
from heartfelt.labels.strengths import STRENGTHS
from heartfelt.publishing.details import Details
from heartfelt.study import Study
from heartfelt.study.instrument import score_column
from heartfelt.study.model import say
from heartfelt.tables import CONTRACTS

UNDESCRIBED = "a column of the source, which does not describe it"
"""What is said of a column that neither heartfelt, the study nor the authors describe."""
RENAMED = "source_"
"""How the name of a column of the source begins whose own name a layout needs."""

_DESCRIPTIONS: dict[str, dict[str, str]] = {
    contract.name: {column.name: column.about for column in contract.columns}
    for contract in (*CONTRACTS, LABELS, STRENGTHS, CHOICES, BENCHMARK_COURSES)
}
_DESCRIPTIONS["benchmark items"] = {column.name: column.about for column in BENCHMARK_ITEMS.columns}
_STIMULI = {
    "split": "the part it belongs to, such as train or test",
    "group": "what its part was decided by: stimuli of one group are in one part",
    "sha256": "the hash of the media file",
    "link": "where the media can be had, if they are not published here",
    "why_absent": "why there is no media file",
    "media": "the media file",
    "audio": "the audio",
    "image": "the image",
    "file_name": "the media file, relative to this table",
    "generator": "what made the file: a model, service, tool or synthesiser",
    "model": "the model that made it",
    "revision": "the version of the model",
    "seed": "the seed it was made with",
    "settings": "what the generator was told, as JSON",
    "licence": "the licence of the generator's output",
    "licence_url": "where that licence can be read",
    "generated_on": "the day it was generated, as the authors state it",
    "hardware": "what it was made on",
    "source": "the file it was made from",
    "made_at": "when it was made",
    "original": "the file as it was before preparing",
    "original_sha256": "the keyed hash of that file",
    "crop_start": "seconds into the original at which it begins",
    "seconds": "its length in seconds after preparing",
    "gain_db": "the gain that made all stimuli equally loud, in dB",
    "loudness_before": "integrated loudness before preparing, in LUFS",
    "loudness": "integrated loudness, in LUFS",
    "true_peak_db": "the true peak level, in dBTP",
    "vocals": "how likely somebody sings or speaks, from 0 to 1",
    "syllables": "syllables spoken",
    "speech_rate": "syllables per second",
    "articulation_rate": "syllables per second without silences of 0.3 s or more",
    "brightness": "mean brightness of the image",
    "duplicate_of": "the stimulus that it is nearly the same as",
    "checks": "what is wrong with the file or was held back, in words",
    "problem": "why there is no prepared file",
}
_RATINGS = {
    "kind": "what the trial was for: rating, repeat, anchor",
    "probe": "the probe of the study that the trial belongs to",
    "late": "whether the answer came after its place was given to somebody else",
    "counts": "whether it counts towards the ratings the item was to get",
    "plays": "how often the clip was played",
    "first_play": "seconds until the clip was first played",
    "focus_losses": "how often the page lost the focus",
    "heard": "the share of the clip that was played before the answer, from 0 to 1",
    "media_version": "which version of the stimulus's media file was served",
    "heard_flag": "impossible or incomplete: what the listening lacks, by reports and time",
    "device": "the kind of device it was given on",
    "comment": "what the rater wrote about the trial",
    "study_version": "the hash of the version of the study that was asked",
    "batch": "the session it was given in: trials between two breaks",
    "shown": "what the rater saw of a machine's draft: true, hidden or planted",
    "verdict": "what became of a machine's draft: accepted, fixed or rejected",
    "first": "the rater's first answer, where it was changed later",
    "field_seconds": "time the rater spent on this field",
    "keystrokes": "keys and taps it took",
    "split": "the part its stimulus belongs to",
}
_RATERS = {
    "recruiter": "where the rater came from",
    "ended": "how the rater's session ended",
    "excluded": "whether a researcher left the rater out",
    "reason": "why the rater was left out",
    "arrived": "when the rater arrived",
    "last_seen": "when the rater was last there",
    "language": "the rater's language; of studies on heartfelt's own pages, the one the study was read in",
    "agreed": "whether the rater agreed to take part",
    "headphones_correct": "trials of the headphone check that were answered correctly",
    "headphones_passed": "whether the headphone check was passed",
    "device": "the kind of device the rater used",
    "study_version": "the hash of the version of the study the rater began with",
    "consent_document": "the keyed hash of the consent document the rater was shown",
    "attention_asked": "attention trials the rater got",
    "attention_right": "attention trials that were answered as asked",
    "arm": "the arm of the study that the rater was assigned to",
}
_LEDGER = {
    "rule": "the screening rule",
    "ratings": "ratings concerned",
    "statistic": "what the rule computed",
    "value": "its value",
    "threshold": "the limit it was compared with",
    "p": "the p-value, where the rule has one",
}
_DESCRIPTIONS["media"] = {
    "stimulus": "the stimulus id",
    "path": "the media file, relative to the release's folder",
    "sha256": "the SHA-256 of the published file; of the linked file without metadata; keyed where there is neither",
    "bytes": "its size",
    "link": _STIMULI["link"],
    "why_absent": _STIMULI["why_absent"],
}
for _table, _more in (("stimuli", _STIMULI), ("ratings", _RATINGS), ("raters", _RATERS), ("ledger", _LEDGER)):
    _DESCRIPTIONS[_table] = {**_more, **_DESCRIPTIONS[_table]}


def about_column(table: str, name: str, study: Study, details: Details | None = None) -> str:
    """What a column holds, in a phrase; :data:`UNDESCRIBED` where nobody has said.

    ``table`` is a table of a snapshot (stimuli, raters, ratings …), ``labels``, ``strengths``, ``courses``, ``choices``, or
    ``benchmark items``. What the authors say in ``details.columns`` goes before everything else.
    """
    stated = details.columns if details is not None else {}
    if description := stated.get(f"{table}.{name}") or stated.get(name):
        return description
    documented = _DESCRIPTIONS.get(table, {}).get(name)
    if documented is None and name.startswith(RENAMED):
        original = about_column(table, name.removeprefix(RENAMED), study, details)
        return original if original == UNDESCRIBED else f"as the source gives it: {original}"
    return documented or _asked_of_raters(name, study) or _asked_of_stimuli(name, study) or UNDESCRIBED


def _asked_of_raters(name: str, study: Study) -> str | None:
    for fact in study.demographics:
        if name in {fact.id, f"about_{fact.id}"}:
            return f"the rater's answer to: {_line(say(fact.text) or fact.id)}"
    for form in study.forms:
        where = form.partition(":")[0]
        for question in study.asked_in(form) if form != "questions" else ():
            if name == f"{form.replace(':', '_')}_{question.id}":
                question_text = _line(say(question.text) or question.id)
                return f"the rater's answer {where} the stimuli to: {question_text}"
    for box in () if study.consent is None else study.consent.boxes:
        if name == f"ticked_{box.id}":
            return f"whether the rater ticked: {_line(say(box.text) or box.id)}"
    for key, instrument in study.instruments.items():
        for subscale, rule in instrument.subscales.items():
            if name == score_column(key, subscale):
                how = f"{rule.score} of {len(rule.items)} items"
                return f"the rater's score: {rule.name or subscale} ({instrument.name}; {how})"
    return None


def _asked_of_stimuli(name: str, study: Study) -> str | None:
    """Columns of wide tables: a question's id, alone or with the name of a figure."""
    for question in study.asked:
        if name == question.id:
            return f"the answer to: {_line(say(question.text) or question.id)}"
    return None


def _line(text: str) -> str:
    return " ".join(text.split())
