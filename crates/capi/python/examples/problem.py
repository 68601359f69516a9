"""Solves, checks and compares the answers to an allocation problem for a machine with two registers."""

import kingpost

PROBLEM = """
env { int r0, r1 exchange }
problem %sum {
  v0, v1, v2, v3: int 8
  b0:
    i0: def v0 = r0, def v1 = r1
    i1: use v0, use v1, def v2 reuse 0
    i2: use v2, use v0, def v3 reuse 0
    i3: branch use v3 = r0, use v1 any
}
"""

solved = kingpost.solve(PROBLEM, "ssa")
assert kingpost.check(solved) == []
for row in kingpost.allocate(PROBLEM):
    print(row["function"], row["allocator"], row["weighted_cost"])
# A wrong answer is rejected with the rule that it breaks.
wrong = solved.replace("i3: r0", "i3: r1")
print(len(kingpost.check(wrong)) > 0)
