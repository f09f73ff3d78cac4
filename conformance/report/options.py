"""Options that several commands have."""

import argparse
from pathlib import Path

from conformance.world.durable import MEMORY, STORAGES


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json FILE`, to which a command writes its `Outcome`."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all of it to FILE as JSON")


def add_storage(parser: argparse.ArgumentParser) -> None:
    """Add `--storage KIND`, over which the runner is stepped."""
    parser.add_argument(
        "--storage", choices=STORAGES, default=MEMORY, help="step the runner over this: memory unless given"
    )


def add_only(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--only NAME`, with which a command looks at `what` is so called, and at nothing else."""
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help=f"{what} NAME; * and ? match; may be repeated",
    )
