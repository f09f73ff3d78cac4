--------------------------------- MODULE MC ---------------------------------
(***************************************************************************)
(* How TLC is to bound ThreadClaim: who owns which task, and which states  *)
(* are the same but for names.                                             *)
(***************************************************************************)
EXTENDS Properties, TLC

\* For Owner: each process is its one task; or tasks are dealt out to the processes.
Self  == [t \in Tasks |-> t]
Dealt == CHOOSE f \in [Tasks -> Procs] : \A p, q \in Procs :
           Cardinality({t \in Tasks : f[t] = p}) <= 1 + Cardinality({t \in Tasks : f[t] = q})

\* Renamings that keep owners: only where no temporal property is checked.
Sym == {f \in Permutations(Procs \cup Tasks) :
          \A t \in Tasks : f[t] \in Tasks /\ f[Owner[t]] = Owner[f[t]]}

\* A dead process may never start again.
NoRestartSpec == Init /\ [][Next]_vars /\ Fair

\* For Ask, Recover and CommandFails, where failures have no end: callers who ask
\* without end, and fail each time, starve the thread, and that is none of the design's doing.
\* For DirectAbandon, where a counterexample is to stop only where the library can: between its
\* start and what the start records first, it cannot; and without a claim it records nothing.
Never(t) == FALSE
=============================================================================
