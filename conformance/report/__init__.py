"""What every command shows: tables and failures in the terminal, one JSON shape for machines, exit codes."""

from conformance.report.codes import AS_EXPECTED, COULD_NOT_RUN, NOT_AS_EXPECTED, could_not_run
from conformance.report.failures import Failure, print_failures
from conformance.report.listing import Listing, cells_of
from conformance.report.options import add_json, add_only, add_storage
from conformance.report.outcome import Cell, Outcome, Row
from conformance.report.table import Column, make_console, make_table
from conformance.report.words import command, many

__all__ = [
    "AS_EXPECTED",
    "COULD_NOT_RUN",
    "NOT_AS_EXPECTED",
    "Cell",
    "Column",
    "Failure",
    "Listing",
    "Outcome",
    "Row",
    "add_json",
    "add_only",
    "add_storage",
    "cells_of",
    "command",
    "could_not_run",
    "make_console",
    "make_table",
    "many",
    "print_failures",
]
