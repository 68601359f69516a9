// All placements of queens that do not attack each other, recursive, by sets of bits.
// tested: 5 => 10
// measured: 11 => 2680
#include "kernel.h"

static u64 place(u32 all, u32 columns, u32 left, u32 right) {
    if (columns == all) {
        return 1;
    }
    u64 count = 0;
    u32 free = all & ~(columns | left | right);
    while (free != 0) {
        u32 queen = free & (0 - free);
        free ^= queen;
        count += place(all, columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    return count;
}

u64 queens(u64 n) {
    return place((1u << (u32)n) - 1, 0, 0, 0);
}
