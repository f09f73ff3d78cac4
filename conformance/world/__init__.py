"""A deterministic world: processes with real runners, stepped one storage call at a time."""

from conformance.world.world import World

__all__ = ["World"]
