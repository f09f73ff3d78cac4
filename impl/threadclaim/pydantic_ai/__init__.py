"""Turns of pydantic-ai's agents. Nothing else imports pydantic_ai; this needs pydantic-ai-slim >= 2.68."""

from threadclaim.pydantic_ai.turn import PydanticAITurn, current_turn

__all__ = ["PydanticAITurn", "current_turn"]
