"""How ``heartfelt --help`` lists the commands: in panels, in the order of the work; and the commands that were renamed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typer.core import TyperGroup

from heartfelt.errors import Interrupted, UnknownNameError, nearest

PANELS: Mapping[str, tuple[str, ...]] = {
    "Design": ("recipes", "new", "check", "plan", "simulate-collection"),
    "Stimuli": ("intents", "prompts", "make", "prepare", "draft"),
    "Collect": ("preview", "serve", "study", "snapshot", "backup", "restore"),
    "Analyse": ("import", "show", "analyze", "export", "words"),
    "Models": (
        "bench",
        "distances",
        "view",
        "predict",
        "conveyance",
        "train",
        "evaluate",
        "experiment",
        "models",
        "serve-predictor",
    ),
    "Publish": ("publish", "deposit", "site", "score", "serve-benchmark", "challenge"),
    "Tools": ("demo", "formats", "schema"),
}
RENAMED: Mapping[str, str] = {
    "participants": "study participants",
    "quota": "study quota",
    "token": "study token",
    "erase": "study erase",
    "adjudicators": "study adjudicators",
    "publish-details": "publish --details",
    "leaderboard": "site --no-stimuli",
}
"""Names of earlier versions. They work until :data:`REMOVED_IN`; the help does not list them."""
FORMER_PREDICT: Mapping[str, tuple[str, ...]] = {
    "valence-arousal": (),
    "trained": (),
    "speech-quality": ("--model", "speech-mos"),
    "tags": ("--model", "music-tags[top=50,least=0]"),
}
"""Former commands below ``predict``, with the model that each stands for."""
REMOVED_IN = "0.9"


def _former_predict(words: list[str]) -> list[str]:
    """``predict COMMAND FILE…`` as ``predict FILE… --model NAME``."""
    command, *arguments = words
    model = FORMER_PREDICT[command]
    print(
        f"heartfelt predict {command} FILE… is now heartfelt {' '.join(('predict FILE…', *model)).partition('[')[0]};"
        f" the old spelling will be removed in {REMOVED_IN}.",
        file=sys.stderr,
    )
    return ["predict", *arguments, *model, "--earlier", command]


class CommandPanels(TyperGroup):
    """The commands in their panels. A renamed command works under its old name, with a note; Ctrl-C is reported."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        panels = {name: panel for panel, names in PANELS.items() for name in names if name in self.commands}
        for name, panel in panels.items():
            self.commands[name].rich_help_panel = panel  # type: ignore[attr-defined]  # Typer's commands have it
        self.commands = {name: self.commands[name] for name in (*panels, *self.commands)}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first words name, and the words left."""
        old = args[0]
        if old in RENAMED:
            new = RENAMED[old]
            print(
                f"heartfelt {old} is now heartfelt {new}; the old name will be removed in {REMOVED_IN}.",
                file=sys.stderr,
            )
            if old not in self.commands:
                args = [*new.split(), *args[1:]]
        elif old == "predict" and len(args) > 1 and args[1] in FORMER_PREDICT and not Path(args[1]).exists():
            args = _former_predict(args[1:])
        elif old not in self.commands:
            raise UnknownNameError(f"There is no command '{old}'.", self._suggestion(old))
        return super().resolve_command(ctx, args)

    def _suggestion(self, name: str) -> str:
        """The command whose name, or whose name in its group, is nearest."""
        full: dict[str, str] = {}
        for outer, command in self.commands.items():
            if not command.hidden:
                full |= {inner: f"{outer} {inner}" for inner in getattr(command, "commands", {})} | {
                    outer: outer
                }
        close = nearest(name, full)
        return f"Did you mean 'heartfelt {full[close]}'?" if close else "See 'heartfelt --help'."

    def invoke(self, ctx: Any) -> Any:
        """Run the command; Typer itself would turn Ctrl-C into a silent exit."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None
