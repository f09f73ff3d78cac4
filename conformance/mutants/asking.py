"""A step that asks, for twins that ask where the design does not."""

from dataclasses import dataclass

from threadclaim.events import MessagePosted, RequestAnswered
from threadclaim.steps.loads import load_taken, save_ask
from threadclaim.storage.protocol import Transaction, asked_cursor


@dataclass(frozen=True, slots=True)
class AskForAll:
    """Ask for a thread, up to the last message, notice or answer of its log.

    Gives how far was asked before, and whether there is anything past what is taken.
    """

    thread_id: str

    async def __call__(self, tx: Transaction) -> tuple[int, bool]:
        """It raises nothing of its own."""
        asked = await tx.cursor(asked_cursor(self.thread_id)) or 0
        entries = await tx.read(threads=[self.thread_id])
        told = [e.seq for e in entries if isinstance(e.event, MessagePosted | RequestAnswered)]
        if not told:
            return asked, False
        await save_ask(tx, self.thread_id, told[-1])
        return asked, told[-1] > await load_taken(tx, self.thread_id)
