"""The manifest of the model's cfgs, and its runner: models, mutants and witnesses, checked by TLC."""
