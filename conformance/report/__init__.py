"""What every command shows: tables and failures in the terminal, and one JSON shape for machines."""

from conformance.report.failures import Failure, print_failures
from conformance.report.outcome import Cell, Outcome, Row
from conformance.report.table import Column, make_console, make_table

__all__ = ["Cell", "Column", "Failure", "Outcome", "Row", "make_console", "make_table", "print_failures"]
