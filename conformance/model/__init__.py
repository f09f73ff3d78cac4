"""spec/ThreadClaim.tla in Python: the same states, operators and actions, to step the real runner beside.

`Model` is the module's `Next`: given a state, an action's name and who acts, it says which states may come
next. A breadth-first search (`conformance.model.search`) finds exactly the states that TLC finds, and each of
TLC's counterexamples is a behaviour of its mutant here (`conformance.model.mutants`).
"""
