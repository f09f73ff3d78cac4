"""Run TLC and read what it prints."""
