"""What no model sees: real processes that are killed, over real databases, and what the log says after."""
