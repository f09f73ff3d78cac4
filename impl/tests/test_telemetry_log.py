"""A turn's log records: their thread, run and holder, and that no text of a message is in them."""

import logging
from collections.abc import Callable
from types import TracebackType

import pytest

from threadclaim.errors import RunFailure
from threadclaim.telemetry import log_for

TEXT = "the text of a message"
ExcInfo = (
    bool
    | BaseException
    | tuple[type[BaseException], BaseException, TracebackType | None]
    | tuple[None, None, None]
    | None
)


@pytest.fixture(name="log")
def _log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """What is logged, from INFO on."""
    caplog.set_level(logging.INFO)
    return caplog


def test_a_record_has_thread_run_and_holder(log: pytest.LogCaptureFixture) -> None:
    """As fields, under the library's logger; a caller's own fields stay."""
    log_for("t", "r", "h").info("The claim of %s is lost.", "h", extra={"seq": 3})
    (record,) = log.records
    assert (record.name, record.getMessage()) == ("threadclaim", "The claim of h is lost.")
    assert {"thread_id": "t", "run_id": "r", "holder": "h", "seq": 3}.items() <= vars(record).items()


def test_a_record_without_a_run_says_so(log: pytest.LogCaptureFixture) -> None:
    """The fields are always there, so that a format may name them."""
    log_for("t", logger=logging.getLogger("threadclaim.looks")).info("A look.")
    (record,) = log.records
    assert record.name == "threadclaim.looks"
    assert {"thread_id": "t", "run_id": None, "holder": None}.items() <= vars(record).items()


def test_no_field_of_a_call_hides_the_turns(log: pytest.LogCaptureFixture) -> None:
    """What a call names `thread_id` is not taken for the thread."""
    log_for("t", "r", "h").info("Fine.", extra={"thread_id": TEXT})
    assert vars(log.records[0])["thread_id"] == "t"


def failing(kind: type[Exception]) -> None:
    """Fail as a validation of model output may: with the text in the error."""
    raise kind(TEXT)


@pytest.mark.parametrize(
    "given",
    [lambda error: True, lambda error: error, lambda error: (type(error), error, error.__traceback__)],  # noqa: ARG005
    ids=["True", "the error", "a tuple"],
)
def test_an_exception_is_logged_without_its_text(
    log: pytest.LogCaptureFixture, given: Callable[[BaseException], ExcInfo]
) -> None:
    """Its type, and where it was raised; whichever way it is given."""
    try:
        failing(ValueError)
    except ValueError as error:
        log_for("t", "r", "h").log(logging.WARNING, "It failed.", exc_info=given(error))
    (record,) = log.records
    assert record.exc_info is None
    assert vars(record)["error_type"] == "ValueError"
    assert record.getMessage() == "It failed. [ValueError]"
    assert "in failing" in vars(record)["error_stack"]
    assert TEXT not in str(vars(record)) + log.text


def test_a_failure_of_the_librarys_own_has_its_full_name(log: pytest.LogCaptureFixture) -> None:
    """As the attribute `error.type` of a span has it; `exception` logs it too."""
    try:
        failing(RunFailure)
    except RunFailure:
        log_for("t").exception("It failed.")
    assert vars(log.records[0])["error_type"] == "threadclaim.errors.RunFailure"
    assert TEXT not in str(vars(log.records[0])) + log.text


@pytest.mark.parametrize("exc_info", [None, False, True, (None, None, None)], ids=str)
def test_without_an_exception_none_is_logged(log: pytest.LogCaptureFixture, exc_info: ExcInfo) -> None:
    """Nor a type or a stack of one."""
    log_for("t").info("Fine.", exc_info=exc_info)
    assert (log.records[0].exc_info, log.records[0].getMessage()) == (None, "Fine.")
    assert vars(log.records[0]).keys() & {"error_type", "error_stack"} == set()


def test_a_record_is_said_where_it_was_written(log: pytest.LogCaptureFixture) -> None:
    """Its file is the caller's, not the adapter's."""
    log_for("t").info("Here.")
    assert log.records[0].pathname == __file__
