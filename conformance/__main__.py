"""`python -m conformance COMMAND`: what shows that the runner does what the model does.

A command exits 0 if everything is as expected, 1 if a check failed, and 2 if it could not run.
"""
# ruff: noqa: E402  # what is needed is looked for before anything that needs it is imported

import argparse
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import FrameType

NEEDED: Mapping[str, str] = {
    "frozendict": "frozendict",
    "hypothesis": "hypothesis",
    "itf-py": "itf_py",
    "rich": "rich",
    "ruamel.yaml": "ruamel.yaml",
}
"""What the extra `conformance` brings, and the module that each is imported as."""


def _is_missing(module: str) -> bool:
    """Whether there is no such module; one that needs another is not missing itself."""
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        return error.name is not None and module.startswith(error.name)
    return False


if _missing := [name for name, module in NEEDED.items() if _is_missing(module)]:
    print(
        f"Could not run: not installed is {', '.join(_missing)}. In a checkout, `make setup` installs all "
        "that is needed, in .venv; elsewhere, `pip install '.[conformance]'` does.",
        file=sys.stderr,
    )
    raise SystemExit(2)

from conformance.awaits.command import Awaits, add_await_options
from conformance.bench.command import Benching, add_bench_options
from conformance.explore.command import Explore, add_explore_options
from conformance.matrix import Mutants, add_mutant_options
from conformance.model.command import Search, add_search_options
from conformance.models.command import Models, add_options, options_from
from conformance.models.controls import Controls, add_control_options
from conformance.models.guards_command import Guards, add_guard_options, guard_options_from
from conformance.replay.command import Replay, add_replay_options
from conformance.report import could_not_run, make_console
from conformance.soak.command import Soaking, add_soak_options
from conformance.soak.soak import Plan
from conformance.tlc.run import check
from conformance.tlc.tools import find_tools
from conformance.verify import Verify, add_verify_options
from conformance.view.command import View, add_view_options, view_options_from

ROOT = Path(__file__).resolve().parents[1]

_Run = Callable[[argparse.Namespace], int]


def _models(arguments: argparse.Namespace) -> int:
    """Run the command `models`."""
    return Models(ROOT, make_console(), find_tools, check).run(options_from(arguments))


def _replay(arguments: argparse.Namespace) -> int:
    """Run the command `replay`."""
    return Replay(ROOT, make_console(), storage=arguments.storage).run(arguments.traces, arguments.json)


def _mutants(arguments: argparse.Namespace) -> int:
    """Run the command `mutants`."""
    return Mutants(ROOT, make_console()).run(arguments.only, arguments.json)


def _search(arguments: argparse.Namespace) -> int:
    """Run the command `search`."""
    return Search(ROOT, make_console()).run(arguments.only, arguments.tier, arguments.json)


def _verify(arguments: argparse.Namespace) -> int:
    """Run the command `verify`."""
    return Verify(ROOT, make_console()).run(arguments.build, arguments.json, arguments.only)


def _controls(arguments: argparse.Namespace) -> int:
    """Run the command `controls`."""
    return Controls(ROOT, make_console(), find_tools, check).run(arguments.only, arguments.json)


def _guards(arguments: argparse.Namespace) -> int:
    """Run the command `guards`."""
    return Guards(ROOT, make_console(), find_tools, check).run(guard_options_from(arguments))


def _view(arguments: argparse.Namespace) -> int:
    """Run the command `view`."""
    return View(ROOT, make_console()).run(view_options_from(arguments))


def _explore(arguments: argparse.Namespace) -> int:
    """Run the command `explore`."""
    return Explore(ROOT, make_console(), storage=arguments.storage, jobs=arguments.jobs).run(
        arguments.profile, arguments.seed, arguments.json
    )


def _soak(arguments: argparse.Namespace) -> int:
    """Run the command `soak`."""
    plan = Plan(arguments.seconds, arguments.seed)
    return Soaking(make_console()).run(plan, arguments.storage, arguments.dsn, arguments.json)


def _awaits(arguments: argparse.Namespace) -> int:
    """Run the command `awaits`."""
    chosen = arguments.storage, arguments.scenario, arguments.dsn, arguments.json
    return Awaits(make_console()).run(*chosen, verbose=arguments.verbose)


def _bench(arguments: argparse.Namespace) -> int:
    """Run the command `bench`."""
    chosen = arguments.storage, arguments.dsn, arguments.threads, arguments.rounds, arguments.json
    return Benching(make_console(), arguments.prepared).run(*chosen)


COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None], _Run]] = {
    "verify": (
        "run all that a pull request must keep, and print one table",
        add_verify_options,
        _verify,
    ),
    "models": (
        "check every cfg with TLC: models, mutants of the model (of the runner: make twins) and witnesses",
        add_options,
        _models,
    ),
    "explore": (
        "walk the real runner beside the model, at random, and check every step",
        add_explore_options,
        _explore,
    ),
    "replay": (
        "carry counterexamples out: on each mutant's twin, and on the library",
        add_replay_options,
        _replay,
    ),
    "mutants": (
        "spoil the runner as each mutant spoils the model: make twins (make mutants: models --kind mutant)",
        add_mutant_options,
        _mutants,
    ),
    "search": (
        "search the model in Python, whose states must be TLC's",
        add_search_options,
        _search,
    ),
    "controls": (
        "check that each mutant's property holds where no rule is taken out",
        add_control_options,
        _controls,
    ),
    "guards": ("take each guard out of the model, and see which property breaks", add_guard_options, _guards),
    "soak": (
        "kill workers at random over a real database, and check what the log says",
        add_soak_options,
        _soak,
    ),
    "awaits": (
        "let everything go wrong at every await of a turn, over each storage",
        add_await_options,
        _awaits,
    ),
    "bench": ("measure what one busy workspace costs, beside many", add_bench_options, _bench),
    "view": ("show a trace: swim lanes in the terminal, or a page to walk through", add_view_options, _view),
}


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """End as Ctrl-C does, so that no TLC is left behind.

    While asyncio runs, SIGINT cancels its main task. Raising here instead might break off a child's start
    half way, and then nobody would know that child.
    """
    signal.raise_signal(signal.SIGINT)


def _end_in_order() -> None:
    """Let every signal that asks a program to end be an interrupt.

    A shell has SIGINT ignored by what it starts in the background, and Python leaves it so.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` name, the process's own unless given, and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m conformance", description="Check threadclaim against its model."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (about, add, _) in COMMANDS.items():
        add(commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}."))
    parsed = parser.parse_args(arguments)
    try:
        return COMMANDS[parsed.command][2](parsed)
    except KeyboardInterrupt:
        return could_not_run("it was interrupted, so not everything was checked.")
    except OSError as error:  # a file that was asked for cannot be written, say
        return could_not_run(f"{error}.")


if __name__ == "__main__":
    _end_in_order()
    sys.exit(main())
