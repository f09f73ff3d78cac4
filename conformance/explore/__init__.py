"""Exploration: the real runner walked at random beside the model, steered towards what is rare."""
