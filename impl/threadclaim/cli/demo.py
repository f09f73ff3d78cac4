"""`threadclaim demo`: a story of two processes, in virtual time."""

from argparse import Namespace

from threadclaim.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    told = "two processes serve a thread: one dies in the middle of its turn, the other takes over"
    parser = commands.add_parser("demo", help=told, description=f"In virtual time, {told}. It needs no key.")
    parser.set_defaults(show=show)


def show(_arguments: Namespace) -> None:
    """Tell the story, a line for each step."""
    # Only this command needs pydantic-ai, and a loop for tests.
    from threadclaim.demo import take_over  # noqa: PLC0415
    from threadclaim.testing import VirtualTimeLoop  # noqa: PLC0415

    VirtualTimeLoop.run(take_over(print))
