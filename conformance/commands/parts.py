"""What every command is made of: its place in the parser, and a help text with examples."""

import argparse
from collections.abc import Callable
from typing import Any, TypeAlias

Command = Callable[[argparse.Namespace], int]
Commands: TypeAlias = Any  # argparse has no public name for what `add_subparsers` returns


def add_command(
    commands: Commands, name: str, command: Command, help_text: str, *examples: str
) -> argparse.ArgumentParser:
    """Add one command; each example is a whole line that works."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_text,
        description=help_text,
        epilog="examples:\n" + "\n".join(f"  {line}" for line in examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=command)
    return parser
