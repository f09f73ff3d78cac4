----------------------------- MODULE Properties -----------------------------
EXTENDS Counter

Zero       == 0
TypeOK     == x \in 0..Max
OneByOne   == [][x' \in {x + 1, Least}]_x
ReachesMax == []<>(x = Max)
=============================================================================
