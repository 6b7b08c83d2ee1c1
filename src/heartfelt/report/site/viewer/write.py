"""The viewer as a folder: a page with the list of samples, and their details in files that the page loads when they are opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from markupsafe import Markup

from heartfelt.files import whole_folder
from heartfelt.predictors.interface.calls import SIMILARITY, Usage
from heartfelt.progress import Progress
from heartfelt.report.bench.sections import repeats, usage
from heartfelt.report.layout.media import relative_address
from heartfelt.report.layout.page import ReportPage, Section, script_json
from heartfelt.report.layout.tables import table
from heartfelt.report.palette import distinct
from heartfelt.report.site.frame import Frame, list_of_used, render_page, require_own_site, write_assets
from heartfelt.report.site.options import ViewOptions
from heartfelt.report.site.sources.boards import file_names
from heartfelt.report.site.sources.published import PublicFacts, read_published
from heartfelt.report.site.sources.secrets import shown_spec
from heartfelt.report.site.viewer.read import Exchange, RunView, ViewerSample, read_run_folder, sum_known
from heartfelt.scoring.results.scores import ModelInfo
from heartfelt.study.model import say
from heartfelt.wording import money, number

FOLDER = "viewer"
SHARD = 100
"""Samples whose details are in one file."""
ALWAYS_SHOWN = 8
"""Columns that the list has even where they are empty."""
_HTML = Markup(
    '<div class="viewer"><div data-list="samples"><noscript><p>The list is made by the page\'s own script.</p></noscript></div>\n'
    '<div id="detail" class="paper" role="region" aria-label="The sample that is open" tabindex="-1">'
    "<p>Choose a sample in the list: what was sent and answered is shown here.</p></div></div>"
)


def write_view(
    run: Path | str, out: Path | str | None = None, options: ViewOptions | None = None, progress: Progress | None = None
) -> Path:
    """Make a viewer of a run, by default in its folder ``viewer``; return the folder, which is either complete or absent."""
    options = options or ViewOptions()
    home = Path(run)
    target = Path(out) if out is not None else home / FOLDER
    require_own_site(target, "assets/viewer.js", "a viewer")
    view = read_run_folder(home)
    published = PublicFacts() if options.release is None else read_published(options.release)
    with whole_folder(target, replace=True) as folder:
        write_assets(folder, "viewer.js")
        page = _page(view, published, target, options.site)
        text = render_page(page, Frame(view.title, {}, root=""), "viewer.html")
        (folder / "index.html").write_text(text, encoding="utf-8")
        (folder / "data").mkdir()
        shards = range(0, len(view.samples), SHARD)
        for shard, start in enumerate(shards):
            content = _shard(view, view.samples[start : start + SHARD])
            (folder / "data" / f"{shard}.js").write_text(f"heartfeltShard({shard},{content});\n", encoding="utf-8")
            if progress is not None and shard % 20 == 0:
                progress("writing samples", start, len(view.samples))
    return target


def _page(view: RunView, published: PublicFacts, target: Path, site: Path | None) -> ReportPage:
    labels = {(row["stimulus"], row["question"]): row for row in published.labels.iter_rows(named=True)}
    colours = {model: distinct(index) for index, model in enumerate(view.models)}
    usages = _usages(view)
    names = dict.fromkeys(part for sample in view.samples for part in (sample.stimulus, *sample.stimulus.split("|")))
    media = {name: relative_address(path, target) for name, path in published.media.items() if name in names}
    study = published.study
    questions = {} if study is None else {question.id: say(question.text) for question in study.asked}
    more = {
        "samples": _listed(view, labels, colours),
        "shard": SHARD,
        "prompts": _prompts(published, names),
        "questions": questions,
        "image": study is not None and study.media == "image",
        "links": _links(names, site, target),
    }
    lead = (
        "Every question put to every model, the largest errors first. Arrow keys move through the list; Enter opens a sample. The"
        " error is the distance from the label in percent of the range of labels and answers."
    )
    sections = [Section(id="samples", title="Samples", lead=lead, html=_HTML), *_model_sections(view, usages)]
    title, facts = f"Run: {view.title}", _facts(view, usages)
    return ReportPage(title=title, subtitle="", sections=sections, media=media, facts=facts, more=more)


def _prompts(published: PublicFacts, names: Mapping[str, None]) -> dict[str, str]:
    if "prompt" not in published.stimuli.columns:
        return {}
    rows = published.stimuli.select("stimulus", "prompt").drop_nulls().iter_rows()
    return {name: prompt for name, prompt in rows if name in names}


def _model_sections(view: RunView, usages: Mapping[str, Usage]) -> list[Section]:
    """Which models answered, what their requests took, and how their repeats agree; without what is empty."""
    rows = [
        [
            name,
            shown_spec(about.spec),
            about.version,
            about.hash and about.hash[:16],
            about.identity and shown_spec(about.identity),
        ]
        for name, about in view.about.items()
    ]
    infos = {name: ModelInfo(spec=name, display_name=name, usage=usage) for name, usage in usages.items()}
    repeated = {name: about for name, about in view.about.items() if about.consistency}
    models = table("Models", ["model", "asked for as", "version", "hash", "identity"], rows)
    section = Section(id="models", title="Which models answered", html=models)
    return [part for part in (section, usage(infos), repeats(repeated)) if part.html]


def _facts(view: RunView, usages: Mapping[str, Usage]) -> list[tuple[str, str]]:
    """The counts at the top of the page, with tokens and cost where they were recorded."""
    counts = Counter(_outcome(sample) for sample in view.samples)
    facts = [
        ("samples", number(len(view.samples))),
        ("models", number(len(view.models))),
        ("failed", number(counts["failed"])),
        ("asked again", number(sum(sample.attempts > max(1, len(sample.repeats)) for sample in view.samples))),
        ("requests recorded", number(len(view.exchanges))),
    ]
    costs = [usage.cost for usage in usages.values() if usage.cost is not None]
    if usages:
        tokens = sum(usage.input_tokens + usage.output_tokens for usage in usages.values())
        facts.append(("tokens", number(tokens)))
    return [*facts, ("cost", money(sum(costs)))] if costs else facts


def _usages(view: RunView) -> dict[str, Usage]:
    """What each model's requests took, by the calls that were recorded; those answered from the cache are left out."""
    out: dict[str, Usage] = {}
    for raw, model in view.names.items():
        calls = [call for call in view.exchanges.values() if call.model == raw and call.form != SIMILARITY]
        if calls:
            out[model] = _usage(view, model, [call for call in calls if not call.cached])
    return out


def _usage(view: RunView, model: str, paid: Sequence[Exchange]) -> Usage:
    tokens = [
        (call.input_tokens, call.output_tokens)
        for call in paid
        if call.input_tokens is not None and call.output_tokens is not None
    ]
    return Usage(
        requests=len(paid),
        input_tokens=sum(sent for sent, _ in tokens),
        output_tokens=sum(received for _, received in tokens),
        without_counts=len(paid) - len(tokens),
        cost=sum_known(call.cost for call in paid),
        models=info.usage.models if (info := view.about.get(model)) and info.usage else (),
        fingerprints=(),
        items=sum((sample.model, sample.problem) == (model, None) for sample in view.samples),
    )


def _outcome(sample: ViewerSample) -> str:
    if sample.problem is not None:
        return "failed"
    return "asked again" if sample.attempts > max(1, len(sample.repeats)) else "answered"


def _listed(
    view: RunView, labels: Mapping[tuple[str, str], Mapping[str, object]], colours: Mapping[str, str]
) -> dict[str, object]:
    """The list as the page's script reads it."""
    rows = [
        [show(sample, labels.get((sample.stimulus, sample.question))) for show in _COLUMNS.values()]
        for sample in view.samples
    ]
    columns: list[dict[str, object]] = [
        {"label": name, **_COLUMN_LOOKS.get(name, {"kind": "text"})} for name in _COLUMNS
    ]
    return list_of_used(
        columns,
        rows,
        lambda column: column < ALWAYS_SHOWN or any(row[column] is not None for row in rows),
        sorted=list(_COLUMNS).index("error (%)"),
        order=_worst_first(view.samples),
        chosen=True,
        colours=colours,
        title="List of samples",
        hint="stimulus, answer, system",
    )


def _worst_first(samples: Sequence[ViewerSample]) -> list[int]:
    """The places of samples by falling error, those without one last."""
    errors = [sample.error for sample in samples]
    return sorted(range(len(samples)), key=lambda index: (errors[index] is None, -(errors[index] or 0.0)))


def _label(sample: ViewerSample, label: Mapping[str, object] | None) -> str | None:
    """The label in a few characters, with its interval where that is known."""
    if label is not None:
        words = label["answer"] or _figure(label["label"])
        low, high = label["low"], label["high"]
        return f"{words} [{_figure(low)}, {_figure(high)}]" if low is not None and not label["answer"] else str(words)
    if sample.truth is None:
        return None
    if sample.kind == "binary":
        return {1.0: "present", 0.0: "absent"}.get(sample.truth, number(sample.truth, 2))
    return number(sample.truth, 2)


def _figure(value: object) -> str:
    return number(value, 2) if isinstance(value, int | float) else ""


def _answer(sample: ViewerSample) -> str:
    """The answer as it was understood, in a few characters; why there is none."""
    if sample.problem is not None:
        text = sample.problem
    elif sample.answer:
        text = sample.answer
    else:
        answered = sample.value if sample.value is not None else sample.score
        text = number(answered, 2) if answered is not None else sample.members or sample.shares or "–"
    return text if len(text) <= 60 else text[:59] + "…"


def _links(names: Mapping[str, None], site: Path | None, target: Path) -> dict[str, str]:
    """The page of every stimulus on a site that has one."""
    if site is None:
        return {}
    root = relative_address(site / "stimuli", target)
    files = file_names(names)
    return {name: f"{root}/{quote(file)}" for name, file in files.items() if (site / "stimuli" / file).is_file()}


def _shard(view: RunView, samples: Sequence[ViewerSample]) -> str:
    """Details of some samples, with the requests behind them."""
    used = dict.fromkeys(exchange for sample in samples for exchange in sample.exchanges)
    return script_json({"samples": samples, "exchanges": {name: view.exchanges[name] for name in used}})


_Label: TypeAlias = Mapping[str, object] | None
_COLUMNS: Mapping[str, Callable[[ViewerSample, _Label], str | float | None]] = {
    "stimulus": lambda sample, _: sample.stimulus,
    "model": lambda sample, _: sample.model,
    "question": lambda sample, _: sample.question,
    "label": _label,
    "answer": lambda sample, _: _answer(sample),
    "error (%)": lambda sample, _: sample.error,
    "outcome": lambda sample, _: _outcome(sample),
    "attempts": lambda sample, _: sample.attempts,
    "system": lambda sample, _: sample.system,
    "intent": lambda sample, _: sample.intent,
    "agreement of repeats": lambda sample, _: sample.agreement,
    "SD of repeats": lambda sample, _: sample.spread,
    "tokens": lambda sample, _: (
        None if sample.input_tokens is None else sample.input_tokens + (sample.output_tokens or 0)
    ),
    "cost": lambda sample, _: sample.cost,
}
_CHOICE: Mapping[str, object] = {"kind": "text", "filter": "choice"}
_COLUMN_LOOKS: Mapping[str, Mapping[str, object]] = {
    **dict.fromkeys(("model", "question", "outcome", "system", "intent"), _CHOICE),
    "error (%)": {"kind": "number", "places": 0, "filter": "least"},
    **{name: {"kind": "number", "places": 0} for name in ("attempts", "tokens")},
    **{name: {"kind": "number", "places": 2} for name in ("agreement of repeats", "SD of repeats")},
    "cost": {"kind": "number", "places": 5},
}
