"""Turns of pydantic-ai's agents, with pydantic-ai-slim >= 2.68. Only the demo imports it beside."""

from threadclaim.pydantic_ai.turn import PydanticAITurn, current_turn

__all__ = ["PydanticAITurn", "current_turn"]
