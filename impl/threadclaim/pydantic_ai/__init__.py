"""Turns of pydantic-ai's agents. Only the demo imports pydantic_ai beside it; this needs pydantic-ai-slim >= 2.68."""

from threadclaim.pydantic_ai.turn import PydanticAITurn, current_turn

__all__ = ["PydanticAITurn", "current_turn"]
