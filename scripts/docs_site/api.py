"""Pages of the Python reference: the public names of each package, with signature and docstring."""

from __future__ import annotations

import importlib.util
import inspect
import re
from types import ModuleType
from typing import Any

from docstrings import first_paragraph, markdown_of
from links import DOCS

from heartfelt.arguments import python_type
from heartfelt.options import is_options, options_of

PACKAGES = (
    "heartfelt",
    "heartfelt.api",
    "heartfelt.stats",
    "heartfelt.snapshot",
    "heartfelt.study",
    "heartfelt.formats",
    "heartfelt.stimuli",
    "heartfelt.stimuli",
    "heartfelt.simulate",
    "heartfelt.planning",
    "heartfelt.collect",
    "heartfelt.predictors.drafts",
    "heartfelt.screening",
    "heartfelt.labels",
    "heartfelt.analysis",
    "heartfelt.predictors",
    "heartfelt.scoring",
    "heartfelt.training",
    "heartfelt.training.finetuning",
    "heartfelt.training.experiments",
    "heartfelt.scoring.conveyance",
    "heartfelt.report",
    "heartfelt.report.site",
    "heartfelt.publishing",
    "heartfelt.web.challenge",
    "heartfelt.media",
    "heartfelt.predictors.weights",
)
BAR = "\\|"
REPOSITORY = "https://github.com/heartfelt-toolkit/heartfelt/blob/main/src/"


def names_of(package: str) -> dict[str, Any]:
    """The public objects of a package by name: what ``__all__`` lists, less modules."""
    module = importlib.import_module(package)
    listed = getattr(module, "__all__", None) or ()
    values = {name: getattr(module, name) for name in listed if not name.startswith("__")}
    return {name: value for name, value in values.items() if not inspect.ismodule(value)}


def documented() -> dict[str, dict[str, Any]]:
    """Packages with at least one public name."""
    result = {package: names_of(package) for package in PACKAGES if importlib.util.find_spec(package)}
    return {package: names for package, names in result.items() if names}


def pages() -> dict[str, str]:
    """The Markdown of each page by its path below ``api/``."""
    packages = documented()
    rows = [
        f"| [`{package}`]({package}.md) | {first_paragraph(importlib.import_module(package))} |" for package in packages
    ]
    overview = (
        "# Python API\n\nThe public names of each package, generated from the code. `import heartfelt` is quick: what a name needs "
        "is loaded when it is first used.\n\n| package | what it holds |\n|---|---|\n" + "\n".join(rows) + "\n"
    )
    return {"index.md": overview} | {f"{package}.md": _page(package, names) for package, names in packages.items()}


def _methods() -> dict[str, str]:
    """The section of the methods pages that each statistic has, as a link."""
    result: dict[str, str] = {}
    for page in sorted((DOCS / "methods").glob("*.md")):
        for part in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            heading, _, text = part.partition("\n")
            slug = re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
            for name in re.findall(r"`(\w+)`", text.split("```math")[0]):
                result.setdefault(name, f"[{heading}](../methods/{page.name}#{slug})")
    return result


def _page(package: str, names: dict[str, Any]) -> str:
    module = importlib.import_module(package)
    methods = _methods() if package == "heartfelt.stats" else {}
    parts = [f"# {package}\n", _source(package, module), markdown_of(module) + "\n"]
    for name, value in names.items():
        parts.append(_entry(name, value))
        if name in methods:
            parts.append(f"How it is computed: {methods[name]}\n")
    return "\n".join(parts)


def _source(package: str, module: ModuleType) -> str:
    path = package.replace(".", "/")
    end = "/__init__.py" if hasattr(module, "__path__") else ".py"
    return f"[Source]({REPOSITORY}{path}{end})\n"


def _entry(name: str, value: Any) -> str:
    parts = [f"## {name}\n"]
    if inspect.isclass(value):
        parts.append(_code(f"class {name}{_signature(value)}"))
        parts.append(markdown_of(value) + "\n")
        parts += _options(value)
        parts += _members(value)
    elif callable(value) and (inspect.isfunction(value) or hasattr(value, "__wrapped__")):
        parts.append(_code(f"{name}{_signature(value)}"))
        parts.append(markdown_of(value) + "\n")
    else:
        parts.append(_constant(value))
    return "\n".join(parts)


def _constant(value: Any) -> str:
    """A registry lists its names; another constant says its type."""
    if hasattr(value, "keys"):
        listed = ", ".join(f"`{key}`" for key in value.keys())  # noqa: SIM118
        return f"Registered names: {listed}.\n" if listed else "A registry, empty at first.\n"
    return f"`{type(value).__name__}`" + (f": `{value!r}`" if len(repr(value)) < 80 else "") + "\n"


def _options(value: type) -> list[str]:
    """What a class of options says of each, with the flag that the command has for it."""
    if not is_options(value):
        return []
    rows = [
        f"| `{name}` | `{field.flags[0]}` | {field.option.help.replace('|', BAR)} |"
        for name, field in options_of(value).items()
    ]
    return ["| option | flag | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"]


def _members(value: type) -> list[str]:
    """Public methods and properties of the class itself, with the first paragraph of what they say."""
    rows = []
    for name, member in vars(value).items():
        if name.startswith("_"):
            continue
        inner = getattr(member, "__func__", getattr(member, "func", member))
        if isinstance(inner, property):
            rows.append(f"| `{name}` | {first_paragraph(inner)} |")
        elif inspect.isfunction(inner):
            shown = (
                name if inner is not member and hasattr(member, "func") else f"{name}{_signature(inner, short=True)}"
            )
            rows.append(f"| `{shown}` | {first_paragraph(inner)} |".replace("||", "|"))
    if not rows:
        return []
    return [
        "| member | what it gives |\n|---|---|\n" + "\n".join(row.replace(" | None", " or None") for row in rows) + "\n"
    ]


def _signature(value: Any, short: bool = False) -> str:
    """A signature as it is written, without ``self``; ``short`` leaves out annotations."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    empty = inspect.Parameter.empty
    options = options_of(value) if is_options(value) else {}
    parameters = [
        each.replace(
            default=empty if each.default is empty else _Text(_default(each.default)),
            annotation=empty
            if short or each.annotation is empty
            else _Text(python_type(options[each.name]) if each.name in options else _annotation(each.annotation)),
        )
        for each in signature.parameters.values()
        if each.name not in ("self", "cls")
    ]
    returned = signature.return_annotation
    if short or inspect.isclass(value) or returned is empty:
        return str(signature.replace(parameters=parameters, return_annotation=empty))
    return str(signature.replace(parameters=parameters, return_annotation=_Text(_annotation(returned))))


class _Text:
    """Text that a signature shows without quotation marks."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _annotation(annotation: Any) -> str:
    """An annotation without the modules its classes live in."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b[a-z_]\w*\.(?=[A-Za-z_])", "", text)


def _default(value: Any) -> str:
    """A default value, or dots for one that has no short text."""
    text = repr(value)
    return text if len(text) <= 40 and "<" not in text else "..."


def _code(text: str) -> str:
    if len(text) > 100:
        text = _broken(text)
    return f"```python\n{text}\n```\n"


def _broken(text: str) -> str:
    """A long signature, one parameter per line."""
    start, depth, parts, end = text.index("(") + 1, 1, [], len(text)
    begin = start
    for place in range(start, len(text)):
        sign = text[place]
        depth += sign in "([{"
        depth -= sign in ")]}"
        if depth == 1 and sign == ",":
            parts.append(text[begin:place].strip())
            begin = place + 1
        if depth == 0:
            parts.append(text[begin:place].strip())
            end = place
            break
    return text[:start] + "\n" + "".join(f"    {part},\n" for part in parts if part) + text[end:]
