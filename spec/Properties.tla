----------------------------- MODULE Properties -----------------------------
(***************************************************************************)
(* What ThreadClaim promises: a plain sentence above each property, and    *)
(* the record that it comes from.                                          *)
(***************************************************************************)
EXTENDS ThreadClaim

Pos == 0..(2 * MaxMsgs + MaxNotes)
\* Every variable keeps to its values.
TypeOK ==
  /\ Len(log) \in Pos /\ \A i \in 1..Len(log) : log[i] \in {"msg", "note"}
  /\ asked \in 0..Len(log) /\ taken \in 0..Len(log)
  /\ lease \in Tasks \cup {"free", "dead"}
  /\ run.st \in {"idle", "active", "paused", "answered"} /\ run.by \in Tasks \cup {"none"}
  /\ run.by # "none" => run.st = "active"
  /\ broke \in BOOLEAN
  /\ \A p \in Procs : look[p].due \in {"no", "all", "newer"}
  /\ \A p \in Procs : {look[p].seen, look[p].pos} \subseteq Pos
  /\ \A t \in Tasks :
       /\ task[t].at \in HasClaim \cup {"idle", "claim", "down"}
       /\ {task[t].pos, task[t].seen, task[t].read} \subseteq Pos /\ task[t].fed \subseteq Msgs
       /\ task[t].due \in {"", "all", "newer"} /\ (task[t].due # "" <=> task[t].at = "release")
       /\ {task[t].cmd, task[t].lost, task[t].failed} \subseteq BOOLEAN
  /\ once \cup twice \cup given \cup again \cup excused \cup unheard \subseteq Msgs
  /\ want \in Pos /\ waits \in Pos
  /\ faults.crash \in 0..MaxCrash /\ faults.lapse \in 0..MaxLapse
  /\ faults.cancel \in 0..MaxCancel /\ faults.fail \in 0..MaxFail

\* I1 (ADR-0055).  A log write consumes a message at most once; a message is given to a model at
\* most once, but for once more for each time that it was steering, and not recorded as its run
\* died, or as its claim was lost.
I1_ConsumedAtMostOnce == twice = {} /\ again = {}

\* I1 (ADR-0055).  What is consumed was given to a model: never recorded and not answered.  Only a
\* write that took effect and was not heard of consumes for a run that then does not go on.
I1_ConsumedIsGiven == once \subseteq given \cup unheard

\* I2 (ADR-0055).  taken is past a message exactly if a log write consumed it: one transaction
\* did both.
I2_ConsumedWithItsWrite == \A m \in Msgs : m <= taken <=> m \in once

\* I3 (ADR-0055).  A claim that is not a dead holder's has a task that will release it.
I3_ClaimHasATask == lease \in Tasks => task[lease].at \in HasClaim

\* I3 (ADR-0055), context 0042.  One run at a time: whoever runs holds the claim, unless it was
\* lost as it ran; and the holder's run is the thread's, as the log tells it.
I3_OneActiveRun ==
  \A t \in Tasks : task[t].at = "running" =>
    /\ lease = t \/ task[t].lost
    /\ lease = t => run = [st |-> "active", by |-> t]

\* A failed turn has left all that is asked to the thread's next command.
Excused  == waits > 0 /\ asked <= waits
\* Something is left to do, and no failure has left it to the next command.
Stranded == Left /\ ~Excused

\* I3 (ADR-0055).  What was asked and not taken (or a run to be recorded, or resumed), and not left
\* to the next command by a failure, has a task that will take it or hand it over.  Only a death,
\* or a release that failed, may leave it to a look or a sweep.
I3_NoStrandedAsk ==
  Stranded =>
    \/ \E t \in Tasks : task[t].at \notin {"idle", "down"}
    \/ broke /\ \E p \in Procs : look[p].due # "no" \/ Down(p)

\* I4 (ADR-0055).  A turn that does not come to start consumes nothing: only the start of a run,
\* a reply's answers, and a run's own end consume.
I4_FailedTurnConsumesNothing ==
  [][once' # once => \/ run'.st \in {"active", "answered"} /\ run' # run
                     \/ run.by \in Tasks /\ task'[run.by].at \in {"ending", "pausing", "release"}]_vars

\* I4 (ADR-0055).  A failure that consumed nothing hands over only what was asked since it read.
\* (Where its claim had lapsed, and another has consumed its input, it cannot tell that it has not.)
I4_FailureHandsOverNewer ==
  [][\A t \in Tasks : /\ task[t].at = "release" /\ task[t].failed /\ task'[t].at = "claim"
                      /\ task[t].pos = 0 \/ taken < task[t].pos
                      => asked > task[t].read]_vars

\* I5 (ADR-0055).  Only what a command asked for starts a turn, or answers a paused run: never a
\* message committed directly.  (An answered run resumes, for its answers were asked for.)
I5_OnlyAskedStarts ==
  [][/\ run.st = "idle" /\ run'.st = "active" => want > taken
     /\ run.st = "paused" /\ run'.st = "answered" /\ once' # once => want > taken]_vars

\* I6 (ADR-0055).  A message is consumed as a reply only where requests are open to answer.
I6_ReplyAnswers == [][once' # once /\ run'.st = "answered" => run.st = "paused"]_vars

\* ADR-0055, How.  Both cursors only move forward.
CursorsOnlyMoveForward == [][asked' >= asked /\ taken' >= taken]_vars

\* DESIGN.md, section 2.  What a command commits is asked for in the same write.
CommittedIsAsked ==
  [][\A t \in Tasks : log' # log /\ task[t].at = "idle" /\ task'[t].at = "claim"
                      => asked' = Len(log')]_vars

\* ADR-0020, and DESIGN.md, repair (d).  A run begins only where none is; one that is active pauses
\* by its own task only; a pause is left only by its answer, and an answered run by its resume.
RunsInTurn ==
  [][/\ run.st = "idle" => run'.st \in {"idle", "active"}
     /\ run.st = "active" => /\ run'.st \in {"active", "idle", "paused"}
                             /\ run'.st = "active" => run'.by \in {run.by, "none"}
                             /\ run'.st = "paused" =>
                                  run.by \in Tasks /\ task[run.by].at \in {"running", "pausing"}
     /\ run.st = "paused" => run'.st \in {"paused", "answered"}
     /\ run.st = "answered" => /\ run'.st \in {"answered", "active"}
                               /\ run' # run => task[run'.by].at \in {"resume", "replied"}]_vars

\* What is due comes about, and what is due again comes about again: P ~> ~P, which is []<>~P.  Said
\* so, TLC searches one graph for all of them, and takes half the time.

\* ADR-0070.  What was asked is taken, unless a failure leaves it to the next command.  (The
\* log is bounded and asked only grows, so this says it of every position asked for.)
AskedIsTaken == []<>(asked <= Max(taken, waits))

\* I1 (ADR-0055).  A message asked for is consumed: not only counted as taken.
Unconsumed  == {m \in Msgs : waits < m /\ m <= asked} \ once
SentIsTaken == []<>(Unconsumed = {})

\* ADR-0070.  What a live process was refused is taken, though whoever died never comes back.  (For
\* a Spec without Restarts.)
RefusedIsTaken == \A p \in Procs : look[p].due = "all" /\ Stranded ~> ~Stranded \/ Down(p)

\* DESIGN.md, repair (b).  A run whose requests are answered resumes, whoever answered.
RepliedResumes == []<>(run.st # "answered" \/ Excused)

\* DESIGN.md, repair (f).  A run that no task carries any more (its process died, or its start
\* was not heard of) is recorded as ended, though nothing more is asked.
Dead        == run.st = "active" /\ (run.by \in Tasks => task[run.by].at \notin Runs)
DeadRunEnds == []<>(~Dead \/ Excused)

\* DESIGN.md, finding (k).  A claim finds something to carry out, and not only positions to count.
\* (For models in which all that is asked for is a message, or what answers one.)
ClaimsFindWork == \A t \in Tasks : task[t].at # "count"

\* I4 (ADR-0055).  Failures that persist do not spin: once commands end, so do claims.  (For
\* models in which callers do not ask without end.)
I4_NeverSpins == <>[](\A t \in Tasks : task[t].at = "idle")
=============================================================================
