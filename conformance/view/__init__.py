"""Traces of ThreadClaim for people to read: in the terminal as swim lanes, and as a page to walk through."""
