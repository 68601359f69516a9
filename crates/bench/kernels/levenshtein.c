// The edit distance of two strings by one row of the table.
// tested: 1 => 97
// measured: 30 => 4756088635334895461
#include "kernel.h"
#define LEN 128

static u32 least(u32 a, u32 b) {
    return a < b ? a : b;
}

static u32 distance(u8 *a, u8 *b, u32 *row) {
    for (u32 j = 0; j <= LEN; j++) {
        row[j] = j;
    }
    for (u32 i = 1; i <= LEN; i++) {
        u32 diagonal = row[0];
        row[0] = i;
        for (u32 j = 1; j <= LEN; j++) {
            u32 above = row[j];
            u32 change = diagonal + (a[i - 1] != b[j - 1] ? 1u : 0u);
            u32 shift = (above < row[j - 1] ? above : row[j - 1]) + 1;
            row[j] = least(change, shift);
            diagonal = above;
        }
    }
    return row[LEN];
}

u64 levenshtein(u64 n) {
    u8 a[128];
    u8 b[128];
    u32 row[129];
    u32 seed = 1;
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        for (u32 i = 0; i < LEN; i++) {
            seed = seed * 1103515245u + 12345u;
            a[i] = (u8)(seed >> 29);
            b[i] = (u8)(seed >> 26 & 7);
        }
        sum = sum * 31 + distance(a, b, row);
    }
    return sum;
}
