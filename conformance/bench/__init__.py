"""What it costs: measured on the databases, as ratios side by side, and never in a test."""
