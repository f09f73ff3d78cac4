----------------------------- MODULE Witnesses -----------------------------
(***************************************************************************)
(* What the model must be able to do.  Each property says that something   *)
(* never happens; TLC must break it, and so show how it comes about.       *)
(***************************************************************************)
EXTENDS MC

\* ---- Every action.
NeverSend         == [][\A t \in Tasks : ~Send(t)]_vars
NeverAnswer       == [][\A t \in Tasks : ~Answer(t)]_vars
NeverAsk          == [][\A t \in Tasks : ~Ask(t)]_vars
NeverRecover      == [][\A t \in Tasks : ~Recover(t)]_vars
NeverPost         == [][~Post]_vars
NeverNote         == [][~Note]_vars
NeverClaim        == [][\A t \in Tasks : ~Claim(t)]_vars
NeverRefused      == [][\A t \in Tasks : ~Refused(t)]_vars
NeverNothingAsked == [][\A t \in Tasks : ~NothingAsked(t)]_vars
NeverReplan       == [][\A t \in Tasks : ~Replan(t)]_vars
NeverAbandon      == [][\A t \in Tasks : ~Abandon(t)]_vars
NeverStartRun     == [][\A t \in Tasks : ~StartRun(t)]_vars
NeverReply        == [][\A t \in Tasks : ~Reply(t)]_vars
NeverCountTaken   == [][\A t \in Tasks : ~CountTaken(t)]_vars
NeverFenced       == [][\A t \in Tasks : ~Fenced(t)]_vars
\* (Where a write would be refused, Fenced leads to the same state: so where none is.)
NeverLoseClaim    == [][\A t \in Tasks : ~(LoseClaim(t) /\ ~Fenced(t))]_vars
NeverDeliver      == [][\A t \in Tasks : ~Deliver(t)]_vars
NeverEndRun       == [][\A t \in Tasks : ~EndRun(t)]_vars
NeverPause        == [][\A t \in Tasks : ~Pause(t)]_vars
NeverRelease      == [][\A t \in Tasks : ~Release(t)]_vars
NeverCancel       == [][\A t \in Tasks : ~Cancel(t)]_vars
NeverFail         == [][\A t \in Tasks : ~Fail(t)]_vars
NeverCommandFails == [][\A t \in Tasks : ~CommandFails(t)]_vars
NeverFailUnheard  == [][\A t \in Tasks : ~FailUnheard(t)]_vars
NeverEndFails     == [][\A t \in Tasks : ~EndFails(t)]_vars
NeverReleaseFails == [][\A t \in Tasks : ~ReleaseFails(t)]_vars
NeverLapse        == [][\A t \in Tasks : ~Lapse(t)]_vars
NeverLetGo        == [][\A t \in Tasks : ~LetGo(t)]_vars
NeverLookAgain    == [][\A p \in Procs : ~LookAgain(p)]_vars
NeverLookFails    == [][\A p \in Procs : ~LookFails(p)]_vars
NeverCrash        == [][\A p \in Procs : ~Crash(p)]_vars
NeverRestart      == [][\A p \in Procs : ~Restart(p)]_vars
NeverExpire       == [][~Expire]_vars
\* A renewal that succeeds changes nothing, so no step shows it: only that it can come.
NeverRenew        == \A t \in Tasks : ~ENABLED Renew(t)

\* ---- Situations that a reader would ask about.
\* A message is sent, and refused, as a run goes on that does not take it; the hand-over does.
HandsOverNewer(t) == Release(t) /\ task'[t].at = "claim" /\ \E p \in Procs : look[p].due # "no"
NeverHandOverOfNewerAsk == [][\A t \in Tasks : ~HandsOverNewer(t)]_vars
\* A message is sent to a run that no longer takes any, and the run's end does not take it.
NeverMessageAfterQueueClosed ==
  [][\A t, u \in Tasks : ~(Send(t) /\ task[u].at = "release" /\ lease = u)]_vars
\* A look waits while a claim is held, beside a live run.
NeverLookThatWaits == \A p \in Procs : ~(look[p].due # "no" /\ lease \in Tasks
                                         /\ task[lease].at = "running" /\ p # Owner[lease])
\* (A look's task, unlike a command's, has read what was asked; and unlike a hand-over, it comes
\* before any turn.  So these cfgs allow a failure, that has not come: else nothing keeps seen.)
ForALook(t) == task[t].seen > 0 /\ taken = 0 /\ faults.fail = MaxFail
\* A look finds the claim free, claims, and is refused after all: it looks again.
NeverLookIsRefused == [][\A t \in Tasks : ~(Refused(t) /\ ForALook(t))]_vars
\* A look takes what a dead holder was asked.
NeverLookTakesFromTheDead == [][\A t \in Tasks : ~(Claim(t) /\ ForALook(t) /\ broke)]_vars
\* A sweep comes before the dead claim lapses: it is refused, and looks again.
\* (The cfg lets no one ask again, and no one send but once.)
NeverSweepIsRefused == [][\A t \in Tasks : ~(Refused(t) /\ lease = "dead")]_vars
\* A dead run, with nothing asked that is not taken, is recorded as ended.
NeverDeadRunRecorded == [][\A t \in Tasks : ~(Abandon(t) /\ asked <= taken)]_vars
\* An answer is committed before the reply that the holder planned.
NeverReplyFindsAnswer == [][\A t \in Tasks : ~(Reply(t) /\ run.st # "paused")]_vars
\* An answer comes as the pausing run's claim is still held.
NeverAnswerAsItPauses == [][\A t \in Tasks : ~(Answer(t) /\ lease \in Tasks)]_vars
\* An answered run resumes with a message beside the answers.
NeverResumeWithMessages ==
  [][\A t \in Tasks : ~(StartRun(t) /\ task[t].at = "resume" /\ task[t].fed # {})]_vars
\* A reply is recorded, and its process dies before the resume; another resumes the run.
NeverResumeOfTheDead ==
  [][\A t \in Tasks : ~(StartRun(t) /\ task[t].at = "resume" /\ broke /\ {1, 2} \subseteq once
                        /\ task[t].fed = {})]_vars
\* A stalled run ends after the next run began, and is refused.
NeverStalledEnd ==
  [][\A t \in Tasks : ~(EndRun(t) /\ run.st = "active" /\ run.by \in Tasks \ {t})]_vars
\* A stalled run ends before its thread's next holder has abandoned it: its steering is recorded.
NeverLapsedEndRecorded == [][\A t \in Tasks : ~(EndRun(t) /\ run.by = t /\ lease \in Tasks \ {t}
                                            /\ task[t].fed # {})]_vars
\* The next holder comes to abandon a run that has ended meanwhile, and leaves it so.
NeverAbandonFindsEnd == [][\A t \in Tasks : ~(Abandon(t) /\ run.st # "active")]_vars
\* A message is steered, not recorded, and given again.
NeverGivenAgain == [][\A t \in Tasks : ~(StartRun(t) /\ task[t].fed \cap given # {})]_vars
\* A message is steered, and recorded by the run's end.
NeverSteeringRecorded == [][\A t \in Tasks : ~(EndRun(t) /\ run.by = t /\ task[t].fed # {})]_vars
\* A renewal finds that another holds the claim.
NeverRenewalFindsAnother ==
  [][\A t \in Tasks : ~(LoseClaim(t) /\ ~Fenced(t) /\ lease \in Tasks)]_vars
\* A message committed directly is the prompt of the next turn, ahead of the one sent.  (Had both
\* been sent, the other's task or look would tell.)
Alone(t) == \A u \in Tasks \ {t} : task[u].at = "idle" /\ look[Owner[u]].due = "no"
NeverPostedIsPrompt ==
  [][\A t \in Tasks : ~(StartRun(t) /\ task[t].pos = 1 /\ asked = 2 /\ taken = 0 /\ Alone(t))]_vars
\* A failed turn leaves its message to the next command, which consumes it first.
\* (A hand-over would not be a caller's.)
NeverNextCommandTakesTheLeft ==
  [][\A t \in Tasks : ~(StartRun(t) /\ task[t].pos = 1 /\ asked = 2 /\ taken = 0 /\ Alone(t)
                         /\ task[t].cmd /\ faults.fail < MaxFail)]_vars
\* A claim is granted to a call that is cancelled.
NeverCancelledGrant == [][\A t \in Tasks : ~(Cancel(t) /\ lease # lease')]_vars
\* A start is recorded and not heard of: the release finds it, and hands over.
NeverUnheardStart == [][\A t \in Tasks : ~(Release(t) /\ run.by = t)]_vars
\* A run's end is recorded and not heard of: the second try is refused, and changes nothing.
NeverEndTriedAgain ==
  [][\A t \in Tasks : ~(EndRun(t) /\ task[t].at = "ending" /\ run.st = "idle")]_vars
\* A failed release leaves its claim to lapse; its process's look takes what was asked.
NeverLookAfterFailedRelease == [][\A t \in Tasks : ~(Claim(t) /\ broke /\ task[t].seen > 0)]_vars
\* Two processes wait to look at the same thread.
NeverTwoLooks == ~\A p \in Procs : look[p].due # "no"
=============================================================================
