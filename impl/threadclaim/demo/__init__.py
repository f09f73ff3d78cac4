"""What the README and `python -m threadclaim demo` show, without a key: agents whose models follow a script.

- `Trip`: the README's conversation: an agent that books trips, and the person who types.
- `Process`: a process that serves threads and can die, in the middle of whatever it does.
- `take_over`: the story of two processes, one of which dies in the middle of its turn.
"""

from threadclaim.demo.process import MortalStorage, Process
from threadclaim.demo.takeover import take_over
from threadclaim.demo.trip import Trip

__all__ = ["MortalStorage", "Process", "Trip", "take_over"]
