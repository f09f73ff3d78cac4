---------------------------- MODULE ThreadClaim ----------------------------
(***************************************************************************)
(* The thread claim of ADR-0055 (turns from the log), with ADR-0069's      *)
(* fence, ADR-0070's second look, and the repairs that DESIGN.md lists.    *)
(* One thread; several processes, each of one task or more.                *)
(*                                                                         *)
(* Each action of a task is ONE storage transaction (those of a workspace  *)
(* are serialized), or one step in memory.  Between any two of them        *)
(* anything else may happen: the task is cancelled, fails, or dies.        *)
(*                                                                         *)
(* Two things that sound alike are kept apart:                             *)
(*   given     a message reached the model (prompt, reply or steering);    *)
(*   consumed  a log write recorded it: a run's start, a reply's answers,  *)
(*             or a run's end (for what its watcher delivered).            *)
(*                                                                         *)
(* A "note" is a position without a message: a notice, an answer, a run's  *)
(* own event, another thread's event.  spec/README.md says what is left    *)
(* out, and why.                                                           *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets
CONSTANTS
  Procs,      \* processes, as model values
  Tasks,      \* their tasks, as model values: each is the holder of the claims it makes
  Owner,      \* whose task it is: a function from Tasks to Procs
  MaxMsgs,    \* how many messages the log may come to hold
  MaxNotes,   \* how many notes commands and the world may add (a reply adds its own)
  MaxCrash,   \* how many times a process may die
  MaxLapse,   \* how many times a claim may be lost by a live holder (the fault)
  MaxCancel,  \* how many times a caller may be cancelled (Many: any number, not counted)
  MaxFail     \* how many times a transaction may fail     (Many: any number, not counted)
VARIABLES
  \* durable: what storage holds
  log,        \* a sequence of "msg" and "note"; a position's seq is its index
  asked,      \* the cursor artifactr.runner/{thread_id}/asked
  taken,      \* the cursor artifactr.runner/{thread_id}/taken
  lease,      \* the claim's holder: a task; "free" (or lapsed); or "dead", until it lapses
  run,        \* the thread's last run, as the log tells it: [st, by], where st is
              \*   idle (none, or ended) | active | paused (requests open) | answered,
              \*   and by is the task that started it, or "none" once that task has let go of it
  \* in memory
  task,       \* each task: see Idle
  look,       \* each process's timer to look at the thread again, if it has one: see NoLook
  \* ghosts: what happened, for the properties; no action's guard reads them
  once,       \* messages consumed by a log write
  twice,      \* those consumed more than once
  given,      \* messages given to a model
  again,      \* those given more than once, without the excuse of the next line
  excused,    \* steering given, and not recorded, as its run died or its claim was lost
  unheard,    \* messages consumed by a write whose task never heard of it, so given to no model
  want,       \* the furthest position that a command asked for
  waits,      \* a failed turn left what was asked up to here to the thread's next command
  broke,      \* did a process die, or a release fail?  Then a look may be all there is
  \* the bound on the world
  faults      \* how many crashes, lapses, cancellations and failures may still come

durable == <<log, asked, taken, lease, run>>
reads   == <<once, twice, given, again, excused, unheard>>
ghosts  == <<reads, want, waits, broke>>
vars    == <<durable, task, look, ghosts, faults>>

Max(a, b)   == IF a > b THEN a ELSE b
Min(S)      == CHOOSE m \in S : \A n \in S : m <= n
Msgs        == {i \in 1..Len(log) : log[i] = "msg"}
MsgsPast(n) == {m \in Msgs : m > n}
Of(p)       == {t \in Tasks : Owner[t] = p}
Many        == 99
\* The world may do it to us: once less from now on.
May(fault)  == /\ faults[fault] > 0
               /\ faults' = [faults EXCEPT ![fault] = IF @ = Many THEN @ ELSE @ - 1]

(* A task.  at: its next step, which says what it planned, too:            *)
(*   idle     nothing to do                 down     its process is dead   *)
(*   claim    to claim the thread, for what is asked                       *)
(*   replan   it holds the claim, and reads again                          *)
(*   abandon  to record the end of a run that a dead or lost claim left    *)
(*   prompt, resume, replied    to start a run (replied: after its Reply)  *)
(*   reply    to answer the paused run with a message                      *)
(*   count    no message: to count what it read as taken                   *)
(*   running  its run goes on, with its watcher                            *)
(*   ending, pausing    its run is over; recording so failed: to try again *)
(*   release  over: to give up its claim, if it has one, and hand over     *)
Idle ==
  [at   |-> "idle",
   cmd  |-> FALSE,  \* is it a caller's, who may be cancelled?  else the Runner's own
   pos  |-> 0,      \* the position of its input, or the head it read; then its watcher's; after a
                    \* failure, that of the input which a write may have consumed unheard
   fed  |-> {},     \* messages its start will consume; then, that its watcher delivered
   seen |-> 0,      \* asked, as it last read it
   due  |-> "",     \* what it hands over: all that is asked | newer, than what it has seen
   lost |-> FALSE,  \* a ghost: was its claim lost as it ran?
   read |-> 0,      \* a ghost: asked, as it did last read it
   failed |-> FALSE]  \* a ghost: did it fail, having consumed nothing?
\* A process's look.  due, seen, pos: as of the task whose release failed; a refusal is due all.
NoLook == [due |-> "no", seen |-> 0, pos |-> 0]

Set(t, r) == task' = [task EXCEPT ![t] = r]
Rest(t)   == Set(t, Idle)
Down(p)   == \A t \in Of(p) : task[t].at = "down"
Starts    == {"prompt", "resume", "replied"}
Runs      == {"running", "ending", "pausing"}
HasPlan   == Starts \cup {"replan", "abandon", "reply", "count"}
HasClaim  == HasPlan \cup Runs \cup {"release"}

Seen         == IF MaxFail > 0 THEN asked ELSE 0    \* only a failure makes anything of it
\* To claim the thread: as a caller's command or sweep, or as the Runner's own.
Calling      == [Idle EXCEPT !.at = "claim", !.cmd = MaxCancel > 0]
HandingOver  == [Idle EXCEPT !.at = "claim", !.seen = Seen]
LookTask     == HandingOver
SweepTask    == Calling
FailureSaw(t) == task[t].seen
\* Over, however far it came.  After a failure it keeps what it has read, and its input.
Leaving(t, due) ==
  IF due = "all" THEN [Idle EXCEPT !.at = "release", !.due = due]
  ELSE [Idle EXCEPT !.at = "release", !.due = due, !.seen = FailureSaw(t),
                    !.pos = IF task[t].at \in Starts \cup {"reply"} THEN task[t].pos ELSE 0]
\* The ghosts of a task that has just read, and of one that fails.
HasRead(r)   == [r EXCEPT !.read = IF r.at = "release" THEN 0 ELSE Seen]
HasFailed(t, r) == [r EXCEPT !.failed = TRUE, !.read = task[t].read]

Consume(S)   == once' = once \cup S /\ twice' = twice \cup (once \cap S)
\* S is given to a model; what it gives of X, another may give as well.
GiveBut(S, X) == /\ given' = given \cup S /\ excused' = (excused \ S) \cup X
                 /\ again' = again \cup ((given \cap S) \ (excused \cup X))
Give(S)      == GiveBut(S, {})
InMemory     == UNCHANGED <<durable, look, ghosts>>

Init ==
  /\ log = <<>> /\ asked = 0 /\ taken = 0 /\ lease = "free"
  /\ run = [st |-> "idle", by |-> "none"]
  /\ task = [t \in Tasks |-> Idle] /\ look = [p \in Procs |-> NoLook]
  /\ once = {} /\ twice = {} /\ given = {} /\ again = {} /\ excused = {} /\ unheard = {}
  /\ want = 0 /\ waits = 0 /\ broke = FALSE
  /\ faults = [crash |-> MaxCrash, lapse |-> MaxLapse, cancel |-> MaxCancel, fail |-> MaxFail]

\* ---- Commands: what one commits and its ask are one write.  And the world.
RoomForMsg  == Cardinality(Msgs) < MaxMsgs
RoomForNote == Len(log) - Cardinality(Msgs) < MaxNotes
SendAsks(n)   == Max(asked, n)
AnswerAsks(n) == Max(asked, n)
Open          == run.st = "paused"
Wants(n)      == want' = Max(want, n) /\ waits' = 0

\* send commits its message, and asks for it.
Send(t) ==
  /\ task[t].at = "idle" /\ RoomForMsg /\ Set(t, Calling)
  /\ log' = Append(log, "msg") /\ asked' = SendAsks(Len(log) + 1) /\ Wants(Len(log) + 1)
  /\ UNCHANGED <<taken, lease, run, look, reads, broke, faults>>

\* answer commits the open requests' answers, without the claim, and asks up to them.
Answer(t) ==
  /\ task[t].at = "idle" /\ RoomForNote /\ Open /\ Set(t, Calling)
  /\ run' = [run EXCEPT !.st = "answered"]
  /\ log' = Append(log, "note") /\ asked' = AnswerAsks(Len(log) + 1) /\ Wants(Len(log) + 1)
  /\ UNCHANGED <<taken, lease, look, reads, broke, faults>>

\* resume, or a caller that asks again, asks up to the head.  (With all taken, it only ends.)
Ask(t) ==
  /\ task[t].at = "idle" /\ Len(log) > taken /\ Set(t, Calling)
  /\ asked' = Max(asked, Len(log)) /\ Wants(Len(log))
  /\ UNCHANGED <<log, taken, lease, run, look, reads, broke, faults>>

\* A message committed directly (I5); or a notice, or another thread's event: no one asks.
Grow(kind) == log' = Append(log, kind)
              /\ UNCHANGED <<asked, taken, lease, run, task, look, ghosts, faults>>
Post == RoomForMsg  /\ Grow("msg")
Note == RoomForNote /\ Grow("note")

\* ---- The claim, and the plan.
\* Is there anything to do?  More asked than taken; or a run left active, to be recorded; or one
\* whose requests are answered, to be resumed.
Left == asked > taken \/ run.st \in {"active", "answered"}

PlanSees == Seen
\* The holder decides, from one read of thread, cursors and log past taken.
Plan(t) ==
  LET new  == MsgsPast(taken)
      to(at, pos, fed) == [task[t] EXCEPT !.at = at, !.pos = pos, !.fed = fed, !.seen = PlanSees]
  IN IF run.st = "active" THEN to("abandon", 0, {})
     ELSE IF run.st = "answered" THEN to("resume", Len(log), new)
     ELSE IF asked <= taken THEN Leaving(t, "all")
     ELSE IF new = {} THEN to("count", Len(log), {})
     ELSE IF run.st = "paused" THEN to("reply", Min(new), {})
     ELSE to("prompt", Min(new), {Min(new)})

CanClaim(t)  == lease = "free"
RefusedLooks == TRUE
Wanted       == Left

\* The claim is free: it is taken, and the plan read with it.
Claim(t) ==
  /\ task[t].at = "claim" /\ Wanted /\ CanClaim(t) /\ lease' = t /\ Set(t, HasRead(Plan(t)))
  /\ UNCHANGED <<log, asked, taken, run, look, ghosts, faults>>

\* ThreadBusy: the holder will hand over, or has died; its process will look again.
Refused(t) ==
  /\ task[t].at = "claim" /\ Wanted /\ ~CanClaim(t) /\ Rest(t)
  /\ look' = IF RefusedLooks THEN [look EXCEPT ![Owner[t]] = [NoLook EXCEPT !.due = "all"]] ELSE look
  /\ UNCHANGED <<durable, ghosts, faults>>

\* Nothing is left to do: no claim is made.
NothingAsked(t) == task[t].at = "claim" /\ ~Wanted /\ Rest(t) /\ InMemory /\ UNCHANGED faults

\* The same read again, under the claim.
Replan(t) == task[t].at = "replan" /\ Set(t, HasRead(Plan(t))) /\ InMemory /\ UNCHANGED faults

\* ---- The fenced writes: each decides from the lease, in its transaction.
StartFence(t)   == lease = t
ReplyFence(t)   == lease = t
AbandonFence(t) == lease = t
CountFence(t)   == lease = t
Abandonable     == run.st = "active"    \* a run that ended meanwhile is left as it ended
Answerable      == run.st = "paused"    \* requests that an answer came to first are left so
StartTakes(t)   == Max(taken, task[t].pos)
StartGives(t)   == task[t].fed
AbandonedAs     == "idle"
ReplyAsks       == asked    \* nothing: an answered run is something to do, whoever asked
CountTakes(t)   == Max(taken, task[t].pos)    \* no further: an answer may have come since

\* What each commits; what its task does next depends on whether it hears of it.
WriteAbandon == /\ run' = IF Abandonable THEN [st |-> AbandonedAs, by |-> "none"] ELSE run
                /\ UNCHANGED <<log, asked, taken, lease, once, twice>>
WriteStart(t) == /\ run' = [st |-> "active", by |-> t] /\ taken' = StartTakes(t)
                 /\ Consume(task[t].fed) /\ UNCHANGED <<log, asked, lease>>
WriteReply(t) == /\ run' = [run EXCEPT !.st = "answered"] /\ taken' = Max(taken, task[t].pos)
                 /\ log' = Append(log, "note") /\ asked' = ReplyAsks
                 /\ Consume({task[t].pos}) /\ UNCHANGED lease
WriteCount(t) == /\ taken' = CountTakes(t)
                 /\ UNCHANGED <<log, asked, lease, run, once, twice>>

\* A run left active by a holder that died, or lost its claim, is recorded as failed.
Abandon(t) ==
  /\ task[t].at = "abandon" /\ AbandonFence(t) /\ WriteAbandon
  /\ Set(t, [task[t] EXCEPT !.at = "replan"])
  /\ UNCHANGED <<look, given, again, excused, unheard, want, waits, broke, faults>>

\* run_started, with taken through the run's input: its prompt, its reply, or what it resumes with.
StartRun(t) ==
  /\ task[t].at \in Starts /\ StartFence(t) /\ WriteStart(t) /\ Give(StartGives(t))
  /\ Set(t, [Idle EXCEPT !.at = "running", !.pos = task[t].pos])
  /\ UNCHANGED <<look, unheard, want, waits, broke, faults>>

\* The oldest message answers the paused run: its answers, and taken through it.  If an answer
\* came first, the message is left, and the holder plans again.
Reply(t) ==
  /\ task[t].at = "reply" /\ ReplyFence(t)
  /\ IF Answerable
     THEN /\ WriteReply(t) /\ Give({task[t].pos})
          /\ Set(t, [task[t] EXCEPT !.at = "replied"])
     ELSE /\ Set(t, [task[t] EXCEPT !.at = "replan", !.pos = 0])
          /\ UNCHANGED <<durable, once, twice, given, again, excused>>
  /\ UNCHANGED <<look, unheard, want, waits, broke, faults>>

\* With no message to consume, what it read counts as taken.
CountTaken(t) ==
  /\ task[t].at = "count" /\ CountFence(t) /\ WriteCount(t) /\ Set(t, Leaving(t, "all"))
  /\ UNCHANGED <<look, given, again, excused, unheard, want, waits, broke, faults>>

\* A claim that is lost stops its claimant: it has not failed, and hands over everything.
LostDue == "all"

\* A write that its fence refuses changes nothing.
Fenced(t) ==
  /\ \/ task[t].at \in Starts /\ ~StartFence(t)
     \/ task[t].at = "reply" /\ ~ReplyFence(t)
     \/ task[t].at = "abandon" /\ ~AbandonFence(t)
     \/ task[t].at = "count" /\ ~CountFence(t)
  /\ Set(t, Leaving(t, LostDue)) /\ InMemory /\ UNCHANGED faults

\* A run that is active though its task is done with it has no task any more.
LetsGo(t) == run' = IF run.by = t THEN [run EXCEPT !.by = "none"] ELSE run

\* ---- Renewal, only of a claim that has not lapsed.  (One that fails is tried again.)
CanRenew(t) == lease = t
Renew(t) ==
  /\ task[t].at \in HasPlan \cup Runs /\ CanRenew(t) /\ lease' = t
  /\ UNCHANGED <<log, asked, taken, run, task, look, ghosts, faults>>

\* A claimant without its claim stops; so does recording an end that fails, time and again.
Stops(t)     == Set(t, IF task[t].at \in HasPlan THEN Leaving(t, LostDue) ELSE Leaving(t, "all"))
CanStop      == HasPlan \cup {"ending", "pausing"}    \* (a run that loses its claim ends)
\* A renewal that finds its claim gone.
LoseClaim(t) == /\ task[t].at \in CanStop /\ ~CanRenew(t) /\ Stops(t) /\ LetsGo(t)
                /\ UNCHANGED <<log, asked, taken, lease, look, ghosts, faults>>

\* ---- A run.
EndsRun(t)  == run.by = t     \* is it still the thread's run, and active?
EndTakes(t) == EndsRun(t)     \* may its end move a cursor?
DeliverGives(m) == {m}

\* Its watcher gives the model the next message; nothing records it until the run's end.
Deliver(t) ==
  /\ task[t].at = "running" /\ MsgsPast(task[t].pos) # {}
  /\ LET m == Min(MsgsPast(task[t].pos))
     IN /\ Set(t, [task[t] EXCEPT !.pos = m, !.fed = @ \cup {m}])
        /\ GiveBut(DeliverGives(m), IF lease = t THEN {} ELSE {m})
  /\ UNCHANGED <<durable, look, once, twice, unheard, want, waits, broke, faults>>

\* The watcher has stopped, and the run's end is recorded, with taken through what it
\* delivered.  Once the run was abandoned, or had ended already, its end is refused, and takes
\* nothing.  (No fence: whoever takes a lapsed claim abandons the run before it reads again.)
WriteEnd(t, st) ==
  /\ run' = IF EndsRun(t) THEN [st |-> st, by |-> "none"] ELSE run
  /\ taken' = IF EndTakes(t) THEN Max(taken, task[t].pos) ELSE taken
  /\ Consume(IF EndTakes(t) THEN task[t].fed ELSE {})
  /\ UNCHANGED <<log, asked, lease, look, given, again, excused, unheard, want, waits, broke>>
\* Completed, failed or stopped; or with requests open.
EndRun(t) == /\ task[t].at \in {"running", "ending"} /\ WriteEnd(t, "idle")
             /\ Set(t, Leaving(t, "all")) /\ UNCHANGED faults
Pause(t)  == /\ task[t].at \in {"running", "pausing"} /\ WriteEnd(t, "paused")
             /\ Set(t, Leaving(t, "all")) /\ UNCHANGED faults

\* ---- Release, hand over, look again.
Frees(t) == lease = t     \* never another's
\* Did a write consume its input, and it did not hear of it?  Then it has not failed.
Unheard(r) == r.pos > 0 /\ taken >= r.pos
\* Whoever consumed, or was stopped, hands over all that is left; a failure, what was asked since.
Goes(r) == Left /\ (r.due # "newer" \/ Unheard(r) \/ asked > r.seen)
\* A ghost's rule, I4's: a failure that consumed nothing leaves what it saw to the next command.
LeftSo(t) == Left /\ task[t].failed /\ asked <= task[t].read
Waits(t)  == waits' = IF LeftSo(t) THEN Max(waits, asked) ELSE waits

\* One transaction gives up the claim and reads the cursors: so it sees whatever a command
\* that it refused had asked for.  The hand-over is a claim by a task of the Runner's own.
\* (No one cancels a release: it is the claimant's own task's, whoever called.)
Release(t) ==
  /\ task[t].at = "release" /\ LetsGo(t) /\ Waits(t)
  /\ lease' = IF Frees(t) THEN "free" ELSE lease
  /\ Set(t, IF Goes(task[t]) THEN HasRead(HandingOver) ELSE Idle)
  /\ UNCHANGED <<log, asked, taken, look, reads, want, broke, faults>>

\* A claim_ttl after a refusal, beside whatever else the process does, it reads the cursors and
\* the claim.  While the claim is held it waits again, which changes nothing; with nothing left
\* to do it is over.  Else it claims, having read what was asked: so a look that fails hands
\* over only what is newer, and looks do not spin.
LookAgain(p) ==
  /\ look[p].due # "no" /\ look' = [look EXCEPT ![p] = NoLook]
  /\ IF Goes(look[p])
     THEN lease = "free" /\ \E t \in Of(p) : task[t].at = "idle" /\ Set(t, HasRead(LookTask))
     ELSE UNCHANGED task
  /\ UNCHANGED <<durable, ghosts, faults>>

\* Runner.recover, by any replica at any time: it sweeps the thread if anything is left to do.
Recover(t) == /\ task[t].at = "idle" /\ Left /\ Set(t, SweepTask) /\ InMemory /\ UNCHANGED faults

\* ---- What goes wrong.
\* Where a claimant goes whose claim was cancelled, or failed: it may have been granted.
Unclaimed(t, due) == Leaving(t, due)
Granted(t) == IF Wanted /\ CanClaim(t) THEN t ELSE lease

CancelDue == "all"
\* A caller is cancelled: a command's, or a sweep's.  What it waits for runs to its end first,
\* so a claim may have been taken; any other write is heard of before its task breaks off, so it
\* is that write and then this.  (Once it runs, a stop is an EndRun.)
Cancel(t) ==
  /\ task[t].cmd /\ May("cancel")    \* (it is a caller's up to its run's start)
  /\ IF task[t].at = "claim"
     THEN Set(t, Unclaimed(t, CancelDue)) /\ lease' \in {lease, Granted(t)}
     ELSE Set(t, Leaving(t, CancelDue)) /\ UNCHANGED lease
  /\ UNCHANGED <<log, asked, taken, run, look, ghosts>>

\* A transaction fails, or what comes between two of them: nothing took effect.
Fail(t) ==
  /\ task[t].at \in HasPlan \cup {"claim"} /\ May("fail") /\ InMemory
  /\ LET over == IF task[t].at = "claim" THEN Unclaimed(t, "newer") ELSE Leaving(t, "newer")
     IN Set(t, IF task[t].at = "replied" THEN over ELSE HasFailed(t, over))

\* A command's write fails; it cannot know that nothing took effect.  (One that did take effect
\* is the command, and then Fail.)
CommandFails(t) == /\ task[t].at = "idle" /\ May("fail") /\ InMemory
                   /\ Set(t, HasFailed(t, Leaving(t, "newer")))

\* A transaction takes effect, and its answer is lost: to its task it failed.
FailUnheard(t) ==
  /\ May("fail") /\ UNCHANGED <<look, given, again, excused, want, waits, broke>>
  /\ \/ /\ task[t].at = "claim" /\ Wanted /\ CanClaim(t) /\ lease' = t
        /\ Set(t, HasFailed(t, Unclaimed(t, "newer")))
        /\ UNCHANGED <<log, asked, taken, run, once, twice, unheard>>
     \/ /\ Set(t, Leaving(t, "newer"))
        /\ \/ task[t].at \in Starts /\ StartFence(t) /\ WriteStart(t)
              /\ unheard' = unheard \cup task[t].fed
           \/ task[t].at = "reply" /\ ReplyFence(t) /\ Answerable /\ WriteReply(t)
              /\ unheard' = unheard \cup {task[t].pos}
     \/ /\ Set(t, HasFailed(t, Leaving(t, "newer"))) /\ UNCHANGED unheard
        /\ \/ task[t].at = "abandon" /\ AbandonFence(t) /\ WriteAbandon
           \/ task[t].at = "count" /\ CountFence(t) /\ WriteCount(t)

\* Recording a run's end fails, with effect or without.  It tries again, for as long as it holds
\* its claim, and a claim_ttl at most (see LetGo); what was recorded already is then refused.
EndsAt(st)      == IF st = "paused" THEN "pausing" ELSE "ending"
EndAgain(t, st) == [task[t] EXCEPT !.at = EndsAt(st)]
EndFails(t) ==
  /\ May("fail")
  /\ \E st \in {"idle", "paused"} :
       /\ task[t].at \in {"running", EndsAt(st)} /\ Set(t, EndAgain(t, st))
       /\ \/ WriteEnd(t, st)
          \/ UNCHANGED <<durable, look, ghosts>>

ReleaseLooks == TRUE
\* What a look is for, once a release of task r has failed: what that release would have read for.
Armed(l, r)  == IF l.due = "no" THEN [due |-> r.due, seen |-> r.seen, pos |-> r.pos]
                ELSE [NoLook EXCEPT !.due = "all"]
\* A release fails, with effect or without: the claim may stay until it lapses, and nothing
\* was read to hand over by.  Its process looks again, and hands over by the same rule.
ReleaseFails(t) ==
  /\ task[t].at = "release" /\ May("fail") /\ LetsGo(t) /\ Waits(t) /\ Rest(t)
  /\ lease' \in IF Frees(t) THEN {"free", "dead"} ELSE {lease}
  /\ look' = IF ReleaseLooks THEN [look EXCEPT ![Owner[t]] = Armed(@, task[t])] ELSE look
  /\ broke' = TRUE
  /\ UNCHANGED <<log, asked, taken, reads, want>>

\* A look's read fails: it is logged, and not armed again; what was asked waits for the
\* thread's next command, or for recover.
LookFails(p) ==
  /\ look[p].due # "no" /\ May("fail") /\ look' = [look EXCEPT ![p] = NoLook]
  /\ waits' = IF broke /\ Left THEN Max(waits, asked) ELSE waits
  /\ UNCHANGED <<durable, task, reads, want, broke>>

\* Steering that a run was given, and that nothing has recorded, as it loses its claim.
Unrecorded(t) == IF task[t].at \in Runs /\ EndsRun(t) THEN task[t].fed ELSE {}

\* The fault: a live holder stalls past claim_ttl.  It does not know, and goes on.
Lapse(t) ==
  /\ lease = t /\ lease' = "free" /\ May("lapse")
  /\ Set(t, [task[t] EXCEPT !.lost = task[t].at \in Runs])
  /\ excused' = excused \cup Unrecorded(t)
  /\ UNCHANGED <<log, asked, taken, run, look, once, twice, given, again, unheard, want, waits,
                 broke>>

\* The same fault, seen first by its holder: no renewal has succeeded for a whole claim_ttl, by
\* its own clock.
LetGo(t) ==
  /\ task[t].at \in CanStop /\ lease = t /\ May("lapse") /\ Stops(t) /\ LetsGo(t)
  /\ excused' = excused \cup Unrecorded(t)
  /\ UNCHANGED <<log, asked, taken, lease, look, once, twice, given, again, unheard, want, waits,
                 broke>>

\* A process dies, with all its tasks and its look.  Its claim stays until it lapses.
Crash(p) ==
  /\ ~Down(p) /\ May("crash")
  /\ lease' = IF lease \in Of(p) THEN "dead" ELSE lease
  /\ run' = IF run.by \in Of(p) THEN [run EXCEPT !.by = "none"] ELSE run
  /\ task' = [t \in Tasks |-> IF t \in Of(p) THEN [Idle EXCEPT !.at = "down"] ELSE task[t]]
  /\ look' = [look EXCEPT ![p] = NoLook]
  /\ excused' = excused \cup UNION {Unrecorded(t) : t \in Of(p)}
  /\ broke' = TRUE
  /\ UNCHANGED <<log, asked, taken, once, twice, given, again, unheard, want, waits>>

\* A claim that no one will release lapses, in its time.
Expire == /\ lease = "dead" /\ lease' = "free"
          /\ UNCHANGED <<log, asked, taken, run, task, look, ghosts, faults>>

\* The application starts, and calls Runner.recover, which sweeps the thread.
Restart(p) ==
  /\ Down(p)
  /\ \E s \in Of(p) : task' = [t \in Tasks |-> IF t = s THEN SweepTask
                                               ELSE IF t \in Of(p) THEN Idle ELSE task[t]]
  /\ UNCHANGED <<durable, look, ghosts, faults>>

\* ---- The whole, and its fairness: a task goes on, a run ends (or pauses), a dead claim
\* lapses, a dead process starts again, a look comes.  No one need send, ask, fail or die.
Step(t) == \/ Claim(t) \/ Refused(t) \/ NothingAsked(t) \/ Replan(t) \/ CountTaken(t)
           \/ Abandon(t) \/ StartRun(t) \/ Reply(t) \/ Fenced(t) \/ LoseClaim(t)
           \/ Deliver(t) \/ EndRun(t) \/ Pause(t) \/ Release(t)

Next == \/ \E t \in Tasks : \/ Step(t) \/ Renew(t)
                            \/ Send(t) \/ Answer(t) \/ Ask(t) \/ Recover(t)
                            \/ Cancel(t) \/ Fail(t) \/ CommandFails(t) \/ FailUnheard(t)
                            \/ EndFails(t) \/ ReleaseFails(t) \/ Lapse(t) \/ LetGo(t)
        \/ \E p \in Procs : LookAgain(p) \/ LookFails(p) \/ Crash(p) \/ Restart(p)
        \/ Post \/ Note \/ Expire

\* (Only a busy task has a Step: it is said first, for TLC evaluates this at each state and step.)
Busy(t)  == task[t].at \notin {"idle", "down"}
Fair     == /\ \A t \in Tasks : WF_vars(Busy(t) /\ Step(t))
            /\ \A p \in Procs : WF_vars(LookAgain(p))
            /\ WF_vars(Expire)
Restarts == \A p \in Procs : WF_vars(Restart(p))

Spec == Init /\ [][Next]_vars /\ Fair /\ Restarts
=============================================================================
