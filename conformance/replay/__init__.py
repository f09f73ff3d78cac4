"""Replay: a counterexample of TLC's, carried out on the real runner step by step."""
