"""Fixtures of the tests of the manifest and its runner."""

from pathlib import Path

import pytest

from conformance.tests.models.bench import Bench, make_bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """The counter's spec, to edit, where everything is as expected."""
    return make_bench(tmp_path)
