"""What can go wrong: whose fault it is, and what to do. Each of these errors is a `ThreadClaimError`."""

from collections.abc import Sequence

from threadclaim.events import Envelope


class ThreadClaimError(Exception):
    """An error of this library. Its message is a sentence that says what happened and what to do."""


class RequestError(ThreadClaimError, ValueError):
    """The caller's fault: what was asked for is refused at the door, and nothing has changed."""


class WrongType(RequestError, TypeError):
    """What was given is of another type than what is accepted."""


class UnknownThread(RequestError):
    """The workspace has no such thread. One of another tenant or workspace is unknown, whatever its id."""

    def __init__(self, thread_id: str) -> None:
        """Say which thread."""
        super().__init__(f"There is no thread {thread_id!r} in this workspace. Create it, or correct its id.")
        self.thread_id = thread_id


class UnknownRequest(RequestError):
    """The thread's run has no such request."""

    def __init__(self, thread_id: str, request_ids: Sequence[str]) -> None:
        """Say which requests, of which thread."""
        named = ", ".join(map(repr, request_ids))
        super().__init__(
            f"The run of thread {thread_id!r} has no request {named}. Read the thread for those open."
        )
        self.request_ids = tuple(request_ids)


class SettledRequest(RequestError):
    """The request is answered already, or its run is not paused any more; the first answer stands."""

    def __init__(self, thread_id: str, request_ids: Sequence[str]) -> None:
        """Say which requests, of which thread."""
        named = ", ".join(map(repr, request_ids))
        super().__init__(
            f"Request {named} of thread {thread_id!r} is settled: it was answered, or its run has ended. "
            "The first answer stands, whoever gave it, and this one changed nothing. Read it from the log."
        )
        self.request_ids = tuple(request_ids)


class WrongAnswer(RequestError):
    """The answer does not fit its request: it is of a wrong kind, or a form's schema refuses its values."""

    def __init__(self, request_id: str, why: str) -> None:
        """Say which request, and why, in a clause."""
        super().__init__(f"Request {request_id!r} cannot be answered so: {why}. Nothing was committed.")
        self.request_id = request_id


class UsedMessageId(RequestError):
    """The message id was used in this workspace before: ids are the workspace's, and not a thread's.

    `repeats` is the message's own envelope if this was a retry: the same text, of the same actor, committed
    to the same thread among its last thousand entries. It is None if another message has the id, or the first
    is further back. Then **do not take what was sent for committed**: it needs another id.
    """

    def __init__(self, message_id: str, repeats: Envelope | None = None) -> None:
        """Say which id, and whether the message is committed."""
        super().__init__(
            f"The message id {message_id!r} is used in this workspace, and not by this message among the "
            "last of its thread. Nothing was committed: choose another id."
            if repeats is None
            else f"This message, {message_id!r}, is committed already, as entry {repeats.seq}. A retry needs "
            "nothing more; for a second message choose another id."
        )
        self.message_id, self.repeats = message_id, repeats


class UsedThreadId(RequestError):
    """The workspace has a thread of this id already."""

    def __init__(self, thread_id: str) -> None:
        """Say which id."""
        super().__init__(
            f"There is a thread {thread_id!r} in this workspace already. Use it, or choose another id."
        )
        self.thread_id = thread_id


class LimitError(RequestError):
    """What was given is against one of the limits (`threadclaim.limits.LIMITS`)."""

    def __init__(self, limit: str, message: str) -> None:
        """Keep the limit's short name; the message says what was found, what is accepted, and why."""
        super().__init__(message)
        self.limit = limit


class ThreadBusy(ThreadClaimError):
    """Another holds the thread's claim. Nobody's fault: its holder will hand the thread over."""

    def __init__(self, thread_id: str) -> None:
        """Say which thread."""
        super().__init__(
            f"Thread {thread_id!r} is claimed by another holder. "
            "Its claim is given up as its run ends, or lapses."
        )
        self.thread_id = thread_id


class ClaimLost(ThreadClaimError):
    """The claim that a write relies on has lapsed, or is another's; the write has changed nothing."""

    def __init__(self, thread_id: str, holder: str) -> None:
        """Say whose claim, to which thread."""
        super().__init__(
            f"The claim of {holder!r} to thread {thread_id!r} has lapsed or is another's, "
            "so its write is refused. The thread's next holder carries it out."
        )
        self.thread_id = thread_id
        self.holder = holder


class StorageError(ThreadClaimError):
    """The storage could not do it. Unless it says otherwise, what was asked for may have taken effect."""


class StorageUnavailable(StorageError):
    """The database does not answer, is busy, full or read-only. An operator's to mend; then try again."""


class StorageUnsuitable(StorageError):
    """What is named is no database that can be used: a wrong DSN, another file, a server that is too old."""


class SchemaMismatch(StorageError):
    """The database's schema is missing, or older or newer than this version of the library needs."""


class RunnerClosed(ThreadClaimError):
    """The runner is closed: it starts nothing. The caller's fault; use a runner that is open."""

    def __init__(
        self,
        message: str = "This runner is closed and starts nothing. "
        "Send with a runner that is open; nothing was committed.",
    ) -> None:
        """Say what to do."""
        super().__init__(message)


class RunLeft(RunnerClosed):
    """The runner was closed, and its run did not end within `close_within`: it is left as by a crash."""

    def __init__(self) -> None:
        """Say what becomes of it."""
        super().__init__(
            "This runner was closed, and the run did not end, or storage did not answer, in time. It is left "
            "as by a crash: what was committed stays, and the thread's next holder sees to it."
        )


class RunFailure(ThreadClaimError):
    """Raised by a tool or a capability to end its run as failed, with a short, stable reason (ADR-0042)."""

    def __init__(self, message: str, *, reason: str | None = None) -> None:
        """Keep the message, and the reason, one word or a few, that clients can rely on."""
        super().__init__(message)
        self.reason = reason


def kind_of(value: object) -> str:
    """What a value is, in a few words, without the value: "of type str", or "the class Agent"."""
    return f"the class {value.__name__}" if isinstance(value, type) else f"of type {type(value).__name__}"


def said(error: BaseException) -> str:
    """What an exception says, or the name of its type if it says nothing, or cannot say it."""
    try:
        return str(error) or type(error).__name__
    except Exception:  # noqa: BLE001  # an application's own exception, whose text is broken
        return type(error).__name__
