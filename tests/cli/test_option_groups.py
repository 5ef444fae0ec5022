"""Groups of options as parameters of commands."""

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from capo.cli.options import expand_groups


@dataclass(frozen=True, kw_only=True)
class Source:
    name: Annotated[str, typer.Argument()]
    size: Annotated[int, typer.Option("--size")] = 3
    hidden: str = "default"


@dataclass(frozen=True, kw_only=True)
class OtherSource(Source):
    size: int = 9
    hidden: Annotated[str, typer.Option("--hidden")] = "other"


def show(*, first: Source, flag: Annotated[bool, typer.Option("--flag")] = False, second: OtherSource):
    """Show the values."""
    typer.echo(f"{first} {flag} {second}")


def _run(*args):
    app = typer.Typer()
    app.command()(expand_groups(show))
    return CliRunner().invoke(app, args)


def test_a_group_has_the_values_of_its_options_and_the_defaults_of_its_other_fields():
    output = _run("a", "b", "--size", "7", "--hidden", "h", "--flag").output
    first, second = Source(name="a", size=7), OtherSource(name="b", hidden="h")
    assert output == f"{first} True {second}\n"


def test_options_of_a_group_may_be_left_out_and_its_arguments_not():
    assert _run("a", "b").output == f"{Source(name='a')} False {OtherSource(name='b')}\n"
    assert _run("a").exit_code == 2


def test_a_command_keeps_its_name_and_its_help():
    command = expand_groups(show)
    assert (command.__name__, command.__doc__) == ("show", "Show the values.")
