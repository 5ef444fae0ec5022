"""Plain-text help with the options in groups."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from ._options import PANELS
from ._streams import discard_standard_output

ARGUMENTS, OTHER_OPTIONS = "Arguments", "Options"


class GroupedHelpCommand(TyperCommand):
    """A command whose help lists its options by their `rich_help_panel`, without loading rich."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        # Typer puts required arguments in braces, which usually mean a choice.
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in (ARGUMENTS, *PANELS, OTHER_OPTIONS)}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                name = getattr(parameter, "metavar", None) or str(parameter.name).upper()
                groups[ARGUMENTS].append((name, record[1]))
            else:
                groups[getattr(parameter, "rich_help_panel", None) or OTHER_OPTIONS].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class PipedHelpGroup(TyperGroup):
    """The commands; a reader of their help that stops early, such as ``head``, is not an error."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().make_context(*args, **kwargs)
        except BrokenPipeError:
            discard_standard_output()
            raise typer.Exit from None

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            discard_standard_output()
            raise typer.Exit from None
