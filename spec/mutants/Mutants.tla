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
                          \* Answerable: also what an answer came to first

Unheld(t)      == At(t, "idle")    \* Held: a direct run whose caller does not hold the thread

\* ---- Cursors
Unmoved(t)  == taken                        \* StartTakes: taken is saved by a later write
NotAsked(n) == asked                        \* SendAsks, AnswerAsks, ReplyAsks: a later write
TakesInput(t) == Max(taken, task[t].pos)    \* StartTakes: its input, and not what follows it
TakesHead(t) ==                             \* StartTakes: a resume takes what it has not read
  IF At(t, "resume") THEN Len(log) ELSE Max(taken, Through(task[t].pos))
TakesUnread(t) == Max(taken, Through(task[t].pos))   \* CountTakes: past what it has read

PastTheHead(t) == Len(log) + 1              \* StartTakes: past what the log holds
AsRead(t)   == task[t].pos                  \* CountTakes: whatever was saved meanwhile

\* Claim: taken moves as it plans
ClaimAndTake(t) ==
  /\ At(t, "claim") /\ Wanted /\ CanClaim(t) /\ lease' = t
  /\ LET p == Plan(t) IN
       /\ Set(t, [p EXCEPT !.fed = {}])
       /\ taken' = IF p.at \in {"prompt", "resume"} THEN Max(taken, p.pos) ELSE taken
       /\ Consume(p.fed)
  /\ UNCHANGED <<log, asked, run, look, given, again, excused, waits, broke, faults>>

\* ---- Looks and sweeps
NoLook   == FALSE                           \* RefusedLooks, ReleaseLooks
Unread   == [Idle EXCEPT !.at = "claim"]    \* LookTask: a look that fails has read nothing
NoTask   == Idle                            \* SweepTask
OnlyAsked == asked > taken                  \* Left: a run left active is nobody's business

\* ---- Grants and releases
\* Unclaimed: a claim that was cancelled, or failed, is taken not to be granted
KeepsIfCancelled(t, due) == IF due = "all" THEN HandingOver ELSE Leaving(t, due)
KeepsIfFailed(t, due)    == IF due = "newer" THEN HandingOver ELSE Leaving(t, due)
\* Unclaimed and Goes: the ask is outside the try; what was granted is released, and no more
OutsideTry(t, due) == [Leaving(t, due) EXCEPT !.due = "outside"]
GoesIfInside(t) == \/ Unheard(t)
                   \/ task[t].due = "newer" /\ asked > taken /\ asked > task[t].seen
                   \/ task[t].due = "all" /\ Left
AnyClaim(t) == lease \in Tasks              \* Frees: whoever holds it

\* ---- Hand-overs (Goes)
Nothing(t)    == FALSE                      \* nothing is handed over
Everything(t) == Left                  \* so does a failure that consumed nothing
NotFailed(t)  == Unheard(t) \/ (task[t].due = "all" /\ Left)   \* a failure hands nothing over
IfAsked(t)    == \/ Unheard(t)               \* what a run left active leaves is nobody's
                 \/ asked > taken /\ (task[t].due = "all" \/ asked > task[t].seen)
Heard(t)      == FALSE                      \* Unheard: it believes what it heard

\* LostDue and Goes: a claim that is lost is a failure (under a name of its own, for what a
\* true failure may leave to the next command, waits, would hide what this one leaves)
LostFails == "lost"
GoesUnlessLost(t) == \/ Unheard(t)
                     \/ task[t].due = "all" /\ Left
                     \/ task[t].due # "all" /\ asked > taken /\ asked > task[t].seen

\* EndAgain: an end that could not be recorded is not tried again
GivesUp(t, st) == Leaving(t, "all")

\* ---- The run's id as the holder of a claim made while it is paused or answered: the
\* ---- resume renews what the pausing segment holds, which then deletes the lease under it
SameRun == lease \in Tasks /\ At(lease, "release") /\ task[lease].due = "all"
           /\ run.st \in {"paused", "answered"}
RunIdCanClaim(t) == lease = "free" \/ SameRun
RunIdFrees(t) == lease = t \/ /\ task[t].due = "all" /\ lease \in Tasks
                              /\ (run.by = lease \/ run.st \in {"paused", "answered"})

\* ---- Plan
\* A run found active is started over, as if it had ended.
PlanNoAbandon(t) ==
  LET new  == MsgsPast(taken)
      to(at, pos, fed) == [task[t] EXCEPT !.at = at, !.pos = pos, !.fed = fed, !.seen = Seen]
  IN CASE asked <= taken -> Leaving(t, "all")
       [] run.st = "answered" -> to("resume", Len(log), new)
       [] OTHER -> IF new = {} THEN to("count", Len(log), {})
                   ELSE IF run.st = "paused" THEN to("reply", Min(new), {})
                   ELSE to("prompt", Min(new), {Min(new)})
\* Whoever comes to record a dead run's end also carries out what nobody asked for.
PlanUnasked(t) ==
  LET new  == MsgsPast(taken)
      to(at, pos, fed) == [task[t] EXCEPT !.at = at, !.pos = pos, !.fed = fed, !.seen = Seen]
  IN CASE run.st = "active" -> to("abandon", 0, {})
       [] run.st = "answered" -> to("resume", Len(log), new)
       [] OTHER -> IF new = {} THEN to("count", Len(log), {})
                   ELSE IF run.st = "paused" THEN to("reply", Min(new), {})
                   ELSE to("prompt", Min(new), {Min(new)})
\* The newest message is the prompt, and what came before it is passed over.
PlanNewest(t) ==
  LET new  == MsgsPast(taken)
      to(at, pos, fed) == [task[t] EXCEPT !.at = at, !.pos = pos, !.fed = fed, !.seen = Seen]
      newest == CHOOSE m \in new : \A n \in new : n <= m
  IN CASE run.st = "active"   -> to("abandon", 0, {})
       [] asked <= taken      -> Leaving(t, "all")
       [] run.st = "answered" -> to("resume", Len(log), new)
       [] OTHER -> IF new = {} THEN to("count", Len(log), {})
                   ELSE IF run.st = "paused" THEN to("reply", Min(new), {})
                   ELSE to("prompt", newest, {newest})

\* Messages are counted as taken, as if they were notes.
PlanCounts(t) ==
  LET to(at, pos, fed) == [task[t] EXCEPT !.at = at, !.pos = pos, !.fed = fed, !.seen = Seen]
  IN CASE run.st = "active"   -> to("abandon", 0, {})
       [] asked <= taken      -> Leaving(t, "all")
       [] run.st = "answered" -> to("resume", Len(log), MsgsPast(taken))
       [] OTHER -> to("count", Len(log), {})

\* ---- Specs of their own
\* The cursors are read before the claim is given up (two transactions, in that order).
ReadFirst(t) ==
  /\ At(t, "release") /\ LetsGo(t)
  /\ Set(t, [task[t] EXCEPT !.at = IF Goes(t) THEN "free, go" ELSE "free, rest"])
  /\ waits' = IF WaitsFor(t, task[t].seen) THEN Max(waits, asked) ELSE waits
  /\ UNCHANGED <<log, asked, taken, lease, look, reads, broke, faults>>
ThenFree(t) ==
  /\ task[t].at \in {"free, go", "free, rest"}
  /\ lease' = IF lease = t THEN "free" ELSE lease
  /\ Set(t, IF At(t, "free, go") THEN HandingOver ELSE Idle)
  /\ UNCHANGED <<log, asked, taken, run, look, ghosts, faults>>
ReadFirstSpec == Init /\ [][Next \/ \E t \in Tasks : ThenFree(t)]_vars

\* A send that claims first (with its ask in memory, and so no reading of asked), and saves
\* its ask once it has been granted the claim, or refused it.
SendThenClaim(t) ==
  /\ At(t, "idle") /\ RoomForMsg
  /\ log' = Append(log, "msg")
  /\ Set(t, [Idle EXCEPT !.at = "claim, ask", !.pos = Len(log) + 1])
  /\ UNCHANGED <<asked, taken, lease, run, look, ghosts, faults>>
ClaimThenAsk(t) ==
  /\ At(t, "claim, ask")
  /\ lease' = IF lease = "free" THEN t ELSE lease
  /\ look' = IF lease = "free" THEN look ELSE [look EXCEPT ![Owner[t]] = TRUE]
  /\ Set(t, [task[t] EXCEPT !.at = IF lease = "free" THEN "ask, replan" ELSE "ask, rest"])
  /\ UNCHANGED <<log, asked, taken, run, ghosts, faults>>
AskLate(t) ==
  /\ task[t].at \in {"ask, replan", "ask, rest"}
  /\ asked' = Max(asked, task[t].pos)
  /\ Set(t, IF At(t, "ask, replan") THEN [Idle EXCEPT !.at = "replan"] ELSE Idle)
  /\ UNCHANGED <<log, taken, lease, run, look, ghosts, faults>>
AskLateSpec == Init /\ [][Next \/ \E t \in Tasks : ClaimThenAsk(t) \/ AskLate(t)]_vars
=============================================================================
