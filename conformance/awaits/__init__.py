"""Every await of a turn, found by the harness; at each, everything that may go wrong there."""
