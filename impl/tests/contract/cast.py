"""Who and what the tests of the steps are about: two people, and a request of each kind."""

from threadclaim.events import PersonActor, Request

ANN, BEN = PersonActor("ann"), PersonActor("ben")
QUESTION = Request("q", "question", "ask")
APPROVAL = Request("a", "approval", "delete")
FORM = Request("f", "form", "ask_form")

TTL = 600.0
"""A claim's time to live, in seconds: it lapses where a test says so, and not before."""
