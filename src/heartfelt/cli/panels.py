"""How ``heartfelt --help`` lists the commands: in panels, in the order of the work."""

from __future__ import annotations

from collections.abc import Mapping
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


class CommandPanels(TyperGroup):
    """The commands in their panels; Ctrl-C is reported."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        panels = {name: panel for panel, names in PANELS.items() for name in names if name in self.commands}
        for name, panel in panels.items():
            self.commands[name].rich_help_panel = panel  # type: ignore[attr-defined]  # Typer's commands have it
        self.commands = {name: self.commands[name] for name in (*panels, *self.commands)}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first words name, and the words left."""
        if args[0] not in self.commands:
            raise UnknownNameError(f"There is no command '{args[0]}'.", self._suggestion(args[0]))
        return super().resolve_command(ctx, args)

    def _suggestion(self, name: str) -> str:
        """The command whose name, or whose name in its group, is nearest."""
        full: dict[str, str] = {}
        for outer, command in self.commands.items():
            if not command.hidden:
                full |= {inner: f"{outer} {inner}" for inner in getattr(command, "commands", {})} | {outer: outer}
        close = nearest(name, full)
        return f"Did you mean 'heartfelt {full[close]}'?" if close else "See 'heartfelt --help'."

    def invoke(self, ctx: Any) -> Any:
        """Run the command; Typer itself would turn Ctrl-C into a silent exit."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None
