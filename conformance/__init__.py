"""The harness that shows that the runner does what the model does."""
