------------------------------ MODULE Counter ------------------------------
\* A model small enough to check by hand: a counter goes up to Max and wraps.
EXTENDS Naturals
CONSTANTS Max, Least
VARIABLE x

Room == x < Max
Up   == Room /\ x' = x + 1
Wrap == x = Max /\ x' = Least
Leap == Max > 9 /\ x' = Max
Spec == x = Least /\ [][Up \/ Wrap \/ Leap]_x /\ WF_x(Up \/ Wrap)
=============================================================================
