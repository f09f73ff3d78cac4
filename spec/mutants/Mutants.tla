------------------------------ MODULE Mutants ------------------------------
(***************************************************************************)
(* Bad designs.  Each cfg here replaces an operator of ThreadClaim by one  *)
(* of these (or runs a Spec of its own, with a step that the design has    *)
(* not), and names the one property that must break.                       *)
(***************************************************************************)
EXTENDS DirectRuns

\* ---- The fences
Unfenced(t)    == TRUE    \* StartFence, ReplyFence, AbandonFence, CountFence
AnyRun(t)      == TRUE    \* EndsRun: a late end, or pause, is accepted
EvenOver(t)    == TRUE    \* EndTakes: also once the run was abandoned, or had ended already
TakesLapsed(t) == lease \in {t, "free"}     \* CanRenew: one call that takes or renews
Yes            == TRUE    \* Abandonable: also a run that ended meanwhile;
                          \* Answerable: also what an answer came to first;
                          \* Open: an answer is accepted where no run is paused
Paused         == "paused"    \* AbandonedAs

Unheld(t)      == task[t].at = "idle"    \* Held: a direct run whose caller does not hold the thread

\* ---- Cursors
Unmoved(t)  == taken                        \* StartTakes: taken is saved by a later write
NotAsked(n) == asked                        \* SendAsks, AnswerAsks: a later write
ToItsAnswers == Len(log) + 1                \* ReplyAsks: the reply asks up to its own answers
TakesHead(t) ==                             \* StartTakes: a resume takes what it has not read
  IF task[t].at = "resume" THEN Len(log) ELSE Max(taken, task[t].pos)
TakesUnread(t) == Len(log)                  \* CountTakes: past what it has read
PastTheHead(t) == Len(log) + 1              \* StartTakes: past what the log holds
AsRead(t)   == task[t].pos                  \* CountTakes: whatever was saved meanwhile

\* Claim: taken moves as it plans
ClaimAndTake(t) ==
  /\ task[t].at = "claim" /\ Wanted /\ CanClaim(t) /\ lease' = t
  /\ LET p == Plan(t) IN
       /\ Set(t, [p EXCEPT !.fed = {}])
       /\ taken' = IF p.at \in {"prompt", "resume"} THEN Max(taken, p.pos) ELSE taken
       /\ Consume(p.fed)
  /\ UNCHANGED <<log, asked, run, look, given, again, excused, unheard, want, waits, broke, faults>>

\* ---- What is given
Dropped(m) == {}                            \* DeliverGives: a closed queue drops it, and it counts
OnlyAnswers(t) == IF task[t].at = "resume" THEN {} ELSE task[t].fed    \* StartGives

\* DirectTold: a thread without a position of its own starts from what its agent was last told
FromLastTold == IF taken = 0 THEN Len(log) ELSE taken

\* ---- Looks and sweeps
Unarmed  == FALSE                           \* RefusedLooks, ReleaseLooks
Unread   == [Idle EXCEPT !.at = "claim"]    \* LookTask: a look that fails has read nothing
NoTask   == Idle                            \* SweepTask
NotDead     == asked > taken \/ run.st = "answered"    \* Left: a run left active is nobody's business
NotAnswered == asked > taken \/ run.st = "active"      \* Left: nor is an answered one
ForAll(l, r) == [NoLook EXCEPT !.due = "all"]    \* Armed: a failed release's look has forgotten the rest
\* LookAgain: it is over once it finds the claim held
LookOnce(p) ==
  /\ look[p].due # "no" /\ look' = [look EXCEPT ![p] = NoLook]
  /\ IF Goes(look[p]) /\ lease = "free"
     THEN \E t \in Of(p) : task[t].at = "idle" /\ Set(t, HasRead(LookTask)) ELSE UNCHANGED task
  /\ UNCHANGED <<durable, ghosts, faults>>
\* Recover: a sweep asks up to the head
RecoverAsking(t) == /\ task[t].at = "idle" /\ Len(log) > taken /\ asked' = Len(log)
                    /\ Set(t, SweepTask) /\ UNCHANGED <<log, taken, lease, run, look, ghosts, faults>>

\* ---- Grants and releases
\* Unclaimed: a claim that was cancelled, or failed, is taken not to be granted
KeepsIfCancelled(t, due) == IF due = "all" THEN HandingOver ELSE Leaving(t, due)
KeepsIfFailed(t, due)    == IF due = "newer" THEN HandingOver ELSE Leaving(t, due)
\* Unclaimed and Goes: the ask is outside the try; what was granted is released, and no more
OutsideTry(t, due) == [Leaving(t, due) EXCEPT !.due = "outside"]
GoesIfInside(r) == Left /\ r.due # "outside" /\ (r.due = "all" \/ Unheard(r) \/ asked > r.seen)
AnyClaim(t) == lease \in Tasks              \* Frees: whoever holds it

\* ---- Hand-overs
Nothing(r)    == FALSE                      \* Goes: nothing is handed over
Everything(r) == Left                       \* Goes: so does a failure that consumed nothing
NotFailed(r)  == Left /\ (r.due = "all" \/ Unheard(r))    \* Goes: a failure hands nothing over
IfAsked(r)    == asked > taken /\ (r.due = "all" \/ Unheard(r) \/ asked > r.seen)    \* Goes: no run
Heard(r)      == FALSE                      \* Unheard: it believes what it heard
AsAFailure    == "newer"                    \* LostDue, CancelDue: a lost claim, or a cancelled caller
AllAsked(t)   == asked                      \* FailureSaw: as it leaves, not as it read
AsBefore      == 0                          \* PlanSees: what is asked is not read anew with the plan
\* Release: the hand-over asks up to the head
ReleaseAndAsk(t) ==
  /\ task[t].at = "release" /\ LetsGo(t) /\ Waits(t)
  /\ lease' = IF Frees(t) THEN "free" ELSE lease
  /\ asked' = Len(log) /\ Set(t, IF Len(log) > taken \/ Left THEN HasRead(HandingOver) ELSE Idle)
  /\ UNCHANGED <<log, taken, look, reads, want, broke, faults>>

\* EndAgain: an end that could not be recorded is not tried again
GivesUp(t, st) == Leaving(t, "all")

\* ---- The run's id as the holder of a claim made while it is paused or answered: the
\* ---- resume renews what the pausing segment holds, which then deletes the lease under it
SameRun == lease \in Tasks /\ task[lease].at = "release" /\ task[lease].due = "all"
           /\ run.st \in {"paused", "answered"}
RunIdCanClaim(t) == lease = "free" \/ SameRun
RunIdFrees(t) == lease = t \/ /\ task[t].due = "all" /\ lease \in Tasks
                              /\ (run.by = lease \/ run.st \in {"paused", "answered"})

\* ---- Plan
Then(t, at, pos, fed) == [task[t] EXCEPT !.at = at, !.pos = pos, !.fed = fed, !.seen = Seen]
\* With no run to see to: reply, start with `first`, or count.
Otherwise(t, first) ==
  LET new == MsgsPast(taken)
  IN IF new = {} THEN Then(t, "count", Len(log), {})
     ELSE IF run.st = "paused" THEN Then(t, "reply", Min(new), {})
     ELSE Then(t, "prompt", first, {first})
Oldest == IF MsgsPast(taken) = {} THEN 0 ELSE Min(MsgsPast(taken))
Newest == IF MsgsPast(taken) = {} THEN 0 ELSE CHOOSE m \in Msgs : \A n \in Msgs : n <= m
\* A run found active is started over, as if it had ended.
PlanNoAbandon(t) ==
  IF run.st = "answered" THEN Then(t, "resume", Len(log), MsgsPast(taken))
  ELSE IF asked <= taken THEN Leaving(t, "all")
  ELSE Otherwise(t, Oldest)
\* Whoever comes to record a dead run's end also carries out what nobody asked for.
PlanUnasked(t) ==
  IF run.st = "active" THEN Then(t, "abandon", 0, {})
  ELSE IF run.st = "answered" THEN Then(t, "resume", Len(log), MsgsPast(taken))
  ELSE Otherwise(t, Oldest)
\* The newest message is the prompt, and what came before it is passed over.
PlanNewest(t) ==
  IF run.st = "active" THEN Then(t, "abandon", 0, {})
  ELSE IF run.st = "answered" THEN Then(t, "resume", Len(log), MsgsPast(taken))
  ELSE IF asked <= taken THEN Leaving(t, "all")
  ELSE Otherwise(t, Newest)
\* Messages are counted as taken, as if they were notes.
PlanCounts(t) ==
  IF run.st = "active" THEN Then(t, "abandon", 0, {})
  ELSE IF run.st = "answered" THEN Then(t, "resume", Len(log), MsgsPast(taken))
  ELSE IF asked <= taken THEN Leaving(t, "all")
  ELSE Then(t, "count", Len(log), {})
\* An answered run gives way to a message, and its answers are forgotten.
PlanForgets(t) ==
  IF run.st = "active" THEN Then(t, "abandon", 0, {})
  ELSE IF run.st = "answered" /\ MsgsPast(taken) = {} THEN Then(t, "resume", Len(log), {})
  ELSE IF asked <= taken THEN Leaving(t, "all")
  ELSE Otherwise(t, Oldest)

\* ---- Specs of their own
\* The cursors are read before the claim is given up (two transactions, in that order).
ReadFirst(t) ==
  /\ task[t].at = "release" /\ LetsGo(t) /\ Waits(t)
  /\ Set(t, [task[t] EXCEPT !.at = IF Goes(task[t]) THEN "free, go" ELSE "free, rest"])
  /\ UNCHANGED <<log, asked, taken, lease, look, reads, want, broke, faults>>
ThenFree(t) ==
  /\ task[t].at \in {"free, go", "free, rest"}
  /\ lease' = IF lease = t THEN "free" ELSE lease
  /\ Set(t, IF task[t].at = "free, go" THEN HandingOver ELSE Idle)
  /\ UNCHANGED <<log, asked, taken, run, look, ghosts, faults>>
ReadFirstSpec == Init /\ [][Next \/ \E t \in Tasks : ThenFree(t)]_vars

\* A send that claims first (with its ask in memory, and so no reading of asked), and saves
\* its ask once it has been granted the claim, or refused it.
SendThenClaim(t) ==
  /\ task[t].at = "idle" /\ RoomForMsg
  /\ log' = Append(log, "msg")
  /\ Set(t, [Idle EXCEPT !.at = "claim, ask", !.pos = Len(log) + 1])
  /\ UNCHANGED <<asked, taken, lease, run, look, ghosts, faults>>
ClaimThenAsk(t) ==
  /\ task[t].at = "claim, ask"
  /\ lease' = IF lease = "free" THEN t ELSE lease
  /\ look' = IF lease = "free" THEN look ELSE [look EXCEPT ![Owner[t]] = [NoLook EXCEPT !.due = "all"]]
  /\ Set(t, [task[t] EXCEPT !.at = IF lease = "free" THEN "ask, replan" ELSE "ask, rest"])
  /\ UNCHANGED <<log, asked, taken, run, ghosts, faults>>
AskLate(t) ==
  /\ task[t].at \in {"ask, replan", "ask, rest"}
  /\ asked' = Max(asked, task[t].pos)
  /\ Set(t, IF task[t].at = "ask, replan" THEN [Idle EXCEPT !.at = "replan"] ELSE Idle)
  /\ UNCHANGED <<log, taken, lease, run, look, ghosts, faults>>
AskLateSpec == Init /\ [][Next \/ \E t \in Tasks : ClaimThenAsk(t) \/ AskLate(t)]_vars
=============================================================================
