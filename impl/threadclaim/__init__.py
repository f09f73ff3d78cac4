"""A thread claim for agents: one process at a time runs a thread, and every message is consumed at most once.

The protocol is modelled in TLA+ (`spec/`) and checked by TLC; this package carries it out.
"""

__version__ = "0.1.0"
