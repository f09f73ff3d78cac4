"""What sets the project up and what CI runs. Standard library only: it runs before anything is installed."""
