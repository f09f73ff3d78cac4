"""What the terminal and the page say of a trace in the same words."""

from collections.abc import Iterator

from conformance.view.judge import Broken
from conformance.view.walk import Step, Walk, cannot_tell, is_known

LOOP = "\u21ba"
_TOLD_OTHERWISE = frozenset({"description", "note", "kind", "property", "several", "digest"})
"""What a file says that has a place of its own, or is for programs alone."""


def kind_of(walk: Walk) -> str:
    """Return what a trace is, in a sentence."""
    kind = "A recorded run" if walk.recorded else "A counterexample that TLC found"
    return f"{kind}, of {len(walk.steps)} states."


def said_of(walk: Walk) -> list[str]:
    """Return what the file says of its trace: the sentences."""
    return [walk.meta[key] for key in ("description", "note") if walk.meta.get(key)]


def facts_of(walk: Walk) -> dict[str, str]:
    """Return what else the file says of its trace, such as its cfg or its seed."""
    return {key: text for key, text in walk.meta.items() if key not in _TOLD_OTHERWISE}


def title_of(step: Step) -> str:
    """Return a step's action, and who does it."""
    return step.action if step.number == 1 else f"{step.action} by {step.doer}"


def verdicts(walk: Walk) -> list[tuple[str, list[Broken]]]:
    """Return what is broken in groups, each with its heading: what the file names as broken comes first."""
    named = [broken for broken in walk.breaks if broken.name in walk.named]
    others = [broken for broken in walk.breaks if broken.name not in walk.named]
    groups = [("Broken", named), ("Also broken" if named else "Broken", others)]
    return [(heading, breaks) for heading, breaks in groups if breaks] or [("No property is broken", [])]


def where(broken: Broken) -> str:
    """Return a broken property and its step."""
    return f"{broken.name} at step {broken.step + 1}"


def headline(broken: Broken) -> str:
    """Return which property is broken, and since when a temporal one is."""
    if broken.since is None:
        return f"{broken.name} is broken here."
    return f"{broken.name} is broken: from step {broken.since + 1} on, for ever."


def loop_begins(walk: Walk, step: Step) -> str:
    """Return the sentence that stands above a loop's first step; empty above any other."""
    if step.number != walk.loop or walk.stutters:
        return ""
    return f"{LOOP} The loop begins: steps {step.number} to {len(walk.steps)}."


def doubts(walk: Walk) -> Iterator[str]:
    """Yield where the states do not show what the file says."""
    for name in walk.unconfirmed:
        yield f"The file names {name} as broken. Its states show that it holds."
    for name in cannot_tell(walk):
        why = (
            "is about how a trace goes on for ever, and this one just ends"
            if is_known(name)
            else "is none of the model's properties"
        )
        yield f"The file names {name} as broken, which {why}: the states alone do not show it."
