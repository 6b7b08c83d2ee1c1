"""The page of the formats' options, from the formats themselves."""

from __future__ import annotations


def pages() -> dict[str, str]:
    """The Markdown of the page by its path below ``format-options/``."""
    from heartfelt.formats import FORMATS
    from heartfelt.formats.tools.export import ToolExport

    parts = [
        "# Format options\n",
        "Every option of every format, generated from the program. On the command line an option is `--map OPTION=VALUE`, in "
        "Python a keyword of `heartfelt.read`; `heartfelt formats NAME` shows the same with an example.\n",
    ]
    for name, entry in sorted(FORMATS.items()):
        parts.append(f"## {name}\n\n{entry.about[0].upper()}{entry.about[1:]}.\n")
        options = entry.options
        if isinstance(entry, ToolExport):
            parts.append(f"The options of {' and '.join(entry.layouts)}, which override what the reader chooses.\n")
            options = entry.own_options
        if options:
            rows = [f"| `{option}` | {cell(text)} |" for option, text in options.items()]
            parts.append("| option | meaning |\n|---|---|\n" + "\n".join(rows) + "\n")
    return {"index.md": "\n".join(parts)}


def cell(text: str) -> str:
    """A text in a cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("{", "&#123;")
