"""Writes a picture of the live ranges of a function.

    python live_ranges.py OUT.svg
"""

import sys

import kingpost
from kingpost import live_ranges

TEXT = """
function %mix(i64, i64, i64) -> i64 {
block0(v0: i64, v1: i64, v2: i64):
    v3 = iadd v0, v1
    v4 = imul v3, v2
    v5 = sdiv v4, v0
    v6 = bxor v5, v1
    return v6
}
"""

[ranges] = live_ranges(TEXT, allocator="ssa", target="x86_64")
if len(sys.argv) > 1:
    with open(sys.argv[1], "w") as file:
        file.write(ranges.svg())
print(ranges.function, ranges.allocator, "with", len(ranges.ranges), "live ranges")
assert any(location == "rax" for _, location, _, _ in ranges.ranges)
assert ranges.svg().startswith("<svg") and isinstance(kingpost.LiveRanges, type)
