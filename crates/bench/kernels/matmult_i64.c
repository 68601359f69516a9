// Powers of a matrix of 64-bit integers, which wrap.
// tested: 1 => 1862662154257273967
// measured: 60 => 16202040570033664544
#include "kernel.h"
#define SIZE 24

static i64 element(i64 *m, u32 row, u32 column) {
    return m[row * SIZE + column];
}

static void multiply(i64 *a, i64 *b, i64 *result) {
    for (u32 row = 0; row < SIZE; row++) {
        for (u32 column = 0; column < SIZE; column++) {
            i64 sum = 0;
            for (u32 k = 0; k < SIZE; k++) {
                sum += element(a, row, k) * element(b, k, column);
            }
            result[row * SIZE + column] = sum;
        }
    }
}

u64 matmult_i64(u64 n) {
    i64 a[576];
    i64 b[576];
    i64 c[576];
    u64 seed = 1;
    for (u32 i = 0; i < 576; i++) {
        seed = seed * 6364136223846793005ul + 1442695040888963407ul;
        a[i] = (i64)seed >> 40;
        b[i] = i % 25 == 0 ? (i64)1 : (i64)0;
    }
    for (u64 round = 0; round < n; round++) {
        multiply(a, b, c);
        multiply(c, a, b);
    }
    u64 sum = 0;
    for (u32 i = 0; i < 576; i++) {
        sum = sum * 31 + (u64)b[i];
    }
    return sum;
}
