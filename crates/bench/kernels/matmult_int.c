// The product of two matrices of integers, after Embench's matmult-int.
// tested: 1 => 300768660
// measured: 220 => 17538858154818527734
#include "kernel.h"
#define SIZE 20

static u32 random_integer(u32 *seed) {
    *seed = (*seed * 133 + 81) % 8095;
    return *seed;
}

static void multiply(u32 *a, u32 *b, u32 *result) {
    for (i32 i = 0; i < SIZE; i++) {
        for (i32 j = 0; j < SIZE; j++) {
            result[i * SIZE + j] = 0;
            for (i32 k = 0; k < SIZE; k++) {
                result[i * SIZE + j] += a[i * SIZE + k] * b[k * SIZE + j];
            }
        }
    }
}

u64 matmult_int(u64 n) {
    u32 a[400];
    u32 b[400];
    u32 result[400];
    u32 seed[1] = {0};
    for (u32 i = 0; i < SIZE * SIZE; i++) {
        a[i] = random_integer(seed);
        b[i] = random_integer(seed);
    }
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        multiply(a, b, result);
        a[round % 400] += result[round % 397];
        sum = sum * 31 + result[round % 400];
    }
    return sum;
}
