"""Reading whose a claim is that no claimant holds, for twins whose mutants know of such claims."""

from conformance.state import Plain, Reader
from conformance.world.process import THREAD
from conformance.world.world import SCOPE
from threadclaim.storage.protocol import Transaction, lease_name


async def holder(tx: Transaction) -> str | None:
    """Who holds the world's thread."""
    return await tx.holder(lease_name(THREAD))


class OwnersReader(Reader):
    """Reads a world in which a claim may be somebody's who is no claimant."""

    def read(self) -> Plain:
        """The world as it stands, without ghosts."""
        log, asked, taken, lease, *rest = super().read()
        held_by = self.world.loop.run(self.world.storage.transact(SCOPE, holder)) if lease == "dead" else None
        owner = None if held_by is None else self.owner_of(held_by)
        return (log, asked, taken, lease if owner is None else owner, *rest)

    def owner_of(self, held_by: str) -> str | None:
        """The task that a holder is, which is no claimant that lives; None if it is dead."""
        raise NotImplementedError
