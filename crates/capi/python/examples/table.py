"""Compares all allocators on a file: a table with one row for each function and allocator.

    python table.py [FILE.clif|FILE.ra]
"""

import sys

import kingpost

POLYNOMIAL = """
function %poly(i64, i64, i64, i64) -> i64 {
block0(v0: i64, v1: i64, v2: i64, v3: i64):
    v4 = imul v0, v0
    v5 = imul v1, v4
    v6 = sdiv v5, v2
    v7 = imul v3, v0
    v8 = iadd v6, v7
    v9 = ishl v8, v1
    return v9
}
"""

rows = kingpost.allocate(sys.argv[1] if len(sys.argv) > 1 else POLYNOMIAL)
columns = ["function", "allocator", "instructions", "spills", "fills", "moves", "bytes", "weighted_cost"]
try:
    import pandas

    print(pandas.DataFrame(rows)[columns].to_string(index=False))
except ImportError:
    print(*columns)
    for row in rows:
        print(*(row[column] for column in columns))
