"""`threads` and `show`: what they tell, on each database, and that they tell no text unless asked to."""

import pytest

from tests.storages.cli.conftest import QUESTION, SECRET, Run, ask, take
from tests.storages.databases import ANN, Database
from threadclaim.cli.tables import Table, rendered
from threadclaim.events import Reply
from threadclaim.steps import Answer
from threadclaim.storage.sql.base import SqlStorage
from threadclaim.testing import Complete, Pause, Take
from threadclaim.workspace import Workspace, Workspaces

pytestmark = pytest.mark.anyio

THREAD_KEYS = [
    "tenant",
    "workspace",
    "thread",
    "state",
    "asked",
    "taken",
    "messages_not_taken",
    "since",
    "run",
    "open_requests",
    "claim",
    "last_entry",
]
ENTRY_KEYS = ["seq", "at", "actor", "event", "run", "what", "consumed", "not_taken", "asked"]


@pytest.mark.usefixtures("states")
async def test_each_thread_is_listed_with_where_it_stands(database: Database, run: Run) -> None:
    """Those first that somebody should look at; each is counted."""
    ran = await run("threads", database.target)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "tenant acme, workspace trips"
    assert [line.split()[:2] for line in lines[2:8]] == [
        [state, state] for state in ("left", "running", "claimed", "waiting", "paused", "idle")
    ]
    assert lines[-1] == (
        "6 threads in 1 workspace: 1 left, 1 running, 1 claimed, 1 waiting, 1 paused, 1 idle."
    )
    assert SECRET not in ran.out


async def test_threads_for_programs(states: Workspace, database: Database, run: Run) -> None:
    """Under keys that stay, with the claim's holder, its age and what remains of it."""
    ran = await run("threads", database.target, "--json")
    said = ran.json
    assert (ran.code, list(said)) == (0, ["ok", "command", "figures", "rows"])
    assert (said["ok"], said["command"], said["figures"]["threads"], said["figures"]["left"]) == (
        True,
        "threads",
        6,
        1,
    )
    rows = {row["thread"]: row for row in said["rows"]}
    assert [list(row) for row in rows.values()] == [THREAD_KEYS] * 6
    left, running, claimed = rows["left"], rows["running"], rows["claimed"]
    assert (left["messages_not_taken"], left["claim"], left["asked"] > left["taken"]) == (1, None, True)
    thread = await states.thread("running")
    assert thread.run is not None
    assert running["claim"]["holder"] == thread.run.segment
    assert running["claim"]["live"]
    assert 0 < running["claim"]["left"] <= 600
    assert 0 <= running["claim"]["age"] < 600
    assert (claimed["claim"]["live"], claimed["claim"]["age"]) == (True, None)
    assert rows["waiting"]["open_requests"] == ["f1"]
    assert SECRET not in ran.out


async def test_a_claim_that_lapsed_is_told_as_such(states: Workspace, database: Database, run: Run) -> None:
    """Its thread is left: a sweep takes it."""
    await database.run("UPDATE threadclaim_leases SET until = until - 10000")
    ran = await run("threads", database.target)
    (line,) = [line for line in ran.out.splitlines() if line.startswith("running")]
    assert line.split()[1] == "left"
    assert "lapsed 2.6 h ago" in line
    await database.run("UPDATE threadclaim_leases SET until = until + 10000")
    assert states.scope.tenant == "acme"


async def test_an_answer_that_is_asked_and_not_taken_is_told(
    trips: Workspace, database: Database, run: Run
) -> None:
    """It is no message; its thread is left."""
    await trips.create_thread("t")
    await take(trips, "t", [Pause((QUESTION,))])
    await trips.storage.transact(trips.scope, Answer("t", {"q1": Reply(SECRET)}, ANN))
    (line,) = [
        line for line in (await run("threads", database.target)).out.splitlines() if line.startswith("t ")
    ]
    assert line.split()[:4] == ["t", "left", "an", "answer"]


async def test_idle_threads_are_listed_up_to_a_limit(trips: Workspace, database: Database, run: Run) -> None:
    """The rest is counted."""
    for number in range(5):
        await trips.create_thread(f"t{number}")
    ran = await run("threads", database.target, "--limit", "2")
    assert "and 3 idle threads more: see --limit" in ran.out
    assert [line.split()[0] for line in ran.out.splitlines()[2:4]] == ["t4", "t3"]
    assert (await run("threads", database.target, "--limit", "0", "--json")).json["rows"] == []


@pytest.mark.parametrize("number", ["-1", "x", "1.5", "²", ""])
async def test_a_limit_that_is_none(database: Database, run: Run, number: str) -> None:
    """Is refused, with what is accepted."""
    ran = await run("threads", database.target, f"--limit={number}")
    assert (ran.code, "Give 0 or more." in ran.err) == (2, True)


async def test_workspaces_are_told_apart(storage: SqlStorage, database: Database, run: Run) -> None:
    """By tenant, by name, or by both."""
    for tenant, name in (("acme", "trips"), ("acme", "trains"), ("beta", "trips")):
        await Workspaces(storage).workspace(tenant, name, ANN).create_thread("t")
    for arguments, count in (
        ([], 3),
        (["--tenant", "acme"], 2),
        (["--workspace", "trips"], 2),
        (["--tenant", "beta", "--workspace", "trips"], 1),
    ):
        ran = await run("threads", database.target, "--json", *arguments)
        assert ran.json["figures"]["workspaces"] == count
    wrong = await run("threads", database.target, "--workspace", "trip")
    assert wrong.code == 2
    assert (
        wrong.err
        == "threadclaim threads: There is no workspace 'trip' here. Did you mean 'trips' or 'trains'?\n"
    )


@pytest.mark.usefixtures("made")
async def test_an_empty_database_has_no_threads(database: Database, run: Run) -> None:
    """Which is no error."""
    ran = await run("threads", database.target)
    assert (ran.code, ran.out) == (0, "0 threads in 0 workspaces.\n")


@pytest.mark.parametrize(
    "thread_id",
    ["it's; DROP TABLE x --/%", "é" * 1000, "sha256:x", "\N{FIRE}" * 300, "a\nb\x1b[2J", "مرحبا"],
)
async def test_any_id_can_be_looked_at(
    trips: Workspace, database: Database, run: Run, thread_id: str
) -> None:
    """However long it is, and whatever is in it; a terminal sees only what is printable."""
    await trips.create_thread(thread_id)
    seq = await ask(trips, thread_id, "m")
    async with trips.claim_thread(thread_id, ttl=600.0):
        (row,) = (await run("threads", database.target, "--json")).json["rows"]
    claim = row["claim"]
    assert (row["thread"], row["state"], row["asked"], row["taken"]) == (thread_id, "claimed", seq, 0)
    assert 0 < claim["left"] <= 600
    shown = await run("show", database.target, thread_id)
    assert (shown.code, "ASKED, NOT TAKEN" in shown.out) == (0, True)
    assert all(c.isprintable() or c == "\n" for c in shown.out)


async def test_no_id_makes_a_line_of_its_own(storage: SqlStorage, database: Database, run: Run) -> None:
    """Not in a heading, where it would say what is not so."""
    forged = "t\nstate   idle"
    workspace = Workspaces(storage).workspace(forged, forged, ANN)
    await workspace.create_thread(forged)
    for command in (("threads", database.target), ("show", database.target, forged)):
        ran = await run(*command)
        assert ran.code == 0
        assert ran.out.splitlines()[0].count("t\\nstate   idle") >= 2


# ---- One thread's story.


async def test_a_story_tells_what_consumed_each_message(
    trips: Workspace, database: Database, run: Run
) -> None:
    """As the prompt, as an answer, or not at all yet; and nothing that anybody said."""
    await trips.create_thread("t", title=SECRET)
    await trips.post_message("t", SECRET, message_id="n", kind="notice")
    await take(trips, "t", [Take(), Complete(SECRET)])
    await ask(trips, "t", "m-asked")
    await trips.post_message("t", SECRET, message_id="m-posted")
    ran = await run("show", database.target, "t")
    assert (ran.code, ran.err) == (0, "")
    assert "a notice asks for nothing" in ran.out
    assert "consumed at 4 as prompt" in ran.out
    assert f"message m-asked, {len(SECRET)} bytes" in ran.out
    assert [line.rpartition("  ")[2] for line in ran.out.splitlines()[-2:]] == [
        "ASKED, NOT TAKEN",
        "NOT ASKED FOR",
    ]
    assert "cursors asked 6, taken 3: 1 message asked and not taken" in ran.out
    assert SECRET not in ran.out


@pytest.mark.usefixtures("states")
async def test_no_text_is_printed_unless_it_is_asked_for(database: Database, run: Run) -> None:
    """No title, message, argument, answer, output or error: for people and for programs."""
    for thread_id in ("idle", "left", "running", "claimed", "waiting", "paused"):
        for arguments in ([], ["--json"]):
            ran = await run("show", database.target, thread_id, *arguments)
            assert (ran.code, SECRET in ran.out) == (0, False)
            asked = await run("show", database.target, thread_id, "--text", *arguments)
            assert (asked.code, SECRET in asked.out) == (0, True)


@pytest.mark.usefixtures("states")
async def test_a_story_for_programs(database: Database, run: Run) -> None:
    """Under keys that stay; an event as it is only with `--text`."""
    said = (await run("show", database.target, "waiting", "--json")).json
    assert list(said["figures"]) == [*THREAD_KEYS, "entries"]
    assert [list(row) for row in said["rows"]] == [ENTRY_KEYS] * said["figures"]["entries"]
    assert said["rows"][1]["consumed"] == {"as": "prompt", "run": said["figures"]["run"]["id"], "seq": 14}
    assert (said["rows"][-1]["not_taken"], said["rows"][-1]["asked"]) == (True, True)
    texts = (await run("show", database.target, "waiting", "--json", "--text")).json
    assert texts["rows"][-1]["text"]["text"] == SECRET


async def test_an_answer_is_shown_with_its_message(trips: Workspace, database: Database, run: Run) -> None:
    """A message that answered is consumed by the answer."""
    await trips.create_thread("t")
    await take(trips, "t", [Pause((QUESTION,))])
    await take(trips, "t", [Complete(SECRET)])
    ran = await run("show", database.target, "t", "--last", "4")
    assert "(4 earlier entries left out)" in ran.out
    assert "consumed at 6 as answer" in ran.out
    assert "a reply to q1" in ran.out
    assert "it is message 5" in ran.out
    assert SECRET not in ran.out


async def test_a_thread_that_is_not_there(storage: SqlStorage, database: Database, run: Run) -> None:
    """What is like it is named; one of another workspace is said to be there; of two, one is to be named."""
    for tenant, thread_id in (("acme", "bonn"), ("beta", "bonn"), ("beta", "ulm")):
        await Workspaces(storage).workspace(tenant, "trips", ANN).create_thread(thread_id)
    for arguments, sentence in (
        (["bon"], "There is no thread 'bon' here. Did you mean 'bonn'?"),
        (["xyz"], "There is no thread 'xyz' here. `threadclaim threads` lists what there is."),
        (
            ["ulm", "--tenant", "acme"],
            "There is no thread 'ulm' in that workspace, but in another: --tenant beta --workspace trips.",
        ),
        (
            ["bonn"],
            (
                "2 workspaces have a thread 'bonn'. Name one: --tenant acme --workspace trips; "
                "--tenant beta --workspace trips."
            ),
        ),
    ):
        ran = await run("show", database.target, *arguments)
        assert (ran.code, ran.out, ran.err) == (2, "", f"threadclaim show: {sentence}\n")
    named = await run("show", database.target, "bonn", "--tenant", "beta")
    assert (named.code, "of tenant beta" in named.out) == (0, True)
    said = (await run("show", database.target, "bon", "--json")).json
    assert (list(said), said["ok"]) == (["ok", "command", "error"], False)


# ---- Tables.


def test_a_table_that_is_too_wide_is_told_line_by_line() -> None:
    """In a narrow terminal; what is piped is never broken."""
    table = Table(("thread", "state"), [("bonn", "left"), ("ulm", "")])
    assert rendered(table, None) == "thread  state\nbonn    left\nulm"
    assert rendered(table, 13) == rendered(table, None)
    assert rendered(table, 12) == "thread  bonn\nstate   left\n\nthread  ulm"


def test_a_table_stands_straight_with_wide_characters() -> None:
    """And none of what it shows moves the cursor."""
    table = Table(("thread", "state"), [("東京", "a"), ("e\u0301", "b"), ("x\n\x1b", "c")])
    assert rendered(table, None).splitlines()[1:] == ["東京     a", "e\u0301        b", "x\\n\\x1b  c"]
