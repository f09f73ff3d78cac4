"""The real browser, for the tests that need one."""

import os
from collections.abc import Iterator, Mapping
from typing import NoReturn

import pytest

from conformance.tests.view.browser import PROGRAMS, Browser, find_browser


def do_without(environment: Mapping[str, str]) -> NoReturn:
    """Skip a test that needs a browser where there is none; in CI, where there must be one, fail."""
    why = f"There is no browser: name one with CHROME, or install one of {', '.join(PROGRAMS)}."
    if environment.get("CI"):
        pytest.fail(why, pytrace=False)
    pytest.skip(why)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser, one for all tests."""
    program = find_browser(os.environ)
    if program is None:
        do_without(os.environ)
    with Browser(program, tmp_path_factory.mktemp("profile")) as running:
        yield running
