----------------------------- MODULE DirectRuns -----------------------------
(***************************************************************************)
(* ThreadClaim with runs made without the runner: agent.run with the       *)
(* capability, which records the run and takes no position.  Its caller    *)
(* may hold the thread around it (Workspace.claim_thread): then it is left *)
(* alone.  Without a claim, it cannot be told from a dead run.             *)
(***************************************************************************)
EXTENDS MC

\* A caller takes the thread's claim, though nothing is asked; it has a holder of its own.
HoldThread(t) ==
  /\ task[t].at = "idle" /\ lease = "free" /\ lease' = t /\ Set(t, [Idle EXCEPT !.at = "holding"])
  /\ UNCHANGED <<log, asked, taken, run, look, ghosts, faults>>

Held(t) == task[t].at = "holding" /\ lease = t
\* A run that is active beside its claim is a dead one's, and is recorded as ended.  (In the library, in
\* the transaction of the start that comes after it.)
DirectAbandon(t) ==
  /\ Held(t) /\ run.st = "active" /\ run' = [st |-> "idle", by |-> "none"]
  /\ UNCHANGED <<log, asked, taken, lease, task, look, ghosts, faults>>

\* Its run starts, where the thread has none.
DirectStart(t) ==
  /\ Held(t) /\ run.st = "idle"
  /\ run' = [st |-> "active", by |-> t] /\ Set(t, [Idle EXCEPT !.at = "direct"])
  /\ UNCHANGED <<log, asked, taken, lease, look, ghosts, faults>>

\* Its history tells its agent of the log up to the head, which moves no position of the thread's.
DirectTold == taken
\* It ends; an end of a run that was abandoned is refused.
DirectEnd(t) ==
  /\ task[t].at = "direct" /\ Set(t, [Idle EXCEPT !.at = "holding"])
  /\ run' = IF EndsRun(t) THEN [st |-> "idle", by |-> "none"] ELSE run
  /\ taken' = DirectTold /\ UNCHANGED <<log, asked, lease, look, ghosts, faults>>

\* It gives up the thread.  A workspace has no runner to hand over to: whom it refused, looks.
LetThread(t) ==
  /\ task[t].at = "holding" /\ Rest(t) /\ lease' = IF lease = t THEN "free" ELSE lease
  /\ UNCHANGED <<log, asked, taken, run, look, ghosts, faults>>

Direct(t)  == HoldThread(t) \/ DirectAbandon(t) \/ DirectStart(t) \/ DirectEnd(t) \/ LetThread(t)
\* Strong fairness: callers who hold the thread time and again do not come first each time.
DirectSpec ==
  /\ Init /\ [][Next \/ \E t \in Tasks : Direct(t)]_vars /\ Fair /\ Restarts
  /\ \A t \in Tasks : WF_vars(DirectEnd(t)) /\ SF_vars(LetThread(t)) /\ SF_vars(Claim(t))
  /\ \A p \in Procs : SF_vars(LookAgain(p))

\* DESIGN.md, repair (j).  A direct run whose caller holds the thread is ended by nobody else.
HeldRunLeftAlone == [][\A t \in Tasks : task[t].at = "direct" /\ lease = t /\ run.by = t
                                        => run' = run \/ task'[t] # task[t]]_vars
\* What one would wish for: no direct run that lives is recorded as ended by somebody else.
DirectRunNotAbandoned == [][\A t \in Tasks : task[t].at = "direct" /\ run.by = t
                                             => run'.st # "idle" \/ task'[t] # task[t]]_vars
=============================================================================
