"""Verifies, compiles and runs a function."""

import kingpost

FIB = """
function %fib(i32) -> i64 {
block0(v0: i32):
    v1 = iconst.i64 0
    v2 = iconst.i64 1
    jump block1(v0, v1, v2)
block1(v3: i32, v4: i64, v5: i64):
    brif v3, block2, block3
block2:
    v6 = iadd v4, v5
    v7 = iconst.i32 1
    v8 = isub v3, v7
    jump block1(v8, v5, v6)
block3:
    return v4
}
"""

assert kingpost.verify(FIB) == []
module = kingpost.compile(FIB, opt_level="speed")
print("fib(50) =", module["fib"](50))

# Errors have a place.
wrong = FIB.replace("iadd v4, v5", "iadd v4, v3")
for finding in kingpost.verify(wrong):
    print(f"line {finding.line}: {finding.message}")
