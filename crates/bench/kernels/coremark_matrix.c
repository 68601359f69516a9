// Sums and products of matrices of 16-bit integers, after CoreMark's core_matrix.
// tested: 1 => 5287230
// measured: 60 => 2577458227567463676
#include "kernel.h"
#define N 24

static i32 sum_of(u32 size, i32 *c, i32 limit) {
    i32 total = 0;
    i32 previous = 0;
    i32 result = 0;
    for (u32 i = 0; i < size; i++) {
        for (u32 j = 0; j < size; j++) {
            i32 current = c[i * size + j];
            total += current;
            if (total > limit) {
                result += 10;
                total = 0;
            } else {
                result += current > previous ? 1 : 0;
            }
            previous = current;
        }
    }
    return result;
}

static void add_constant(u32 size, u16 *a, u16 value) {
    for (u32 i = 0; i < size; i++) {
        for (u32 j = 0; j < size; j++) {
            a[i * size + j] += value;
        }
    }
}

static void multiply_constant(u32 size, i32 *c, u16 *a, i32 value) {
    for (u32 i = 0; i < size; i++) {
        for (u32 j = 0; j < size; j++) {
            c[i * size + j] = a[i * size + j] * value;
        }
    }
}

static void multiply(u32 size, i32 *c, u16 *a, u16 *b) {
    for (u32 i = 0; i < size; i++) {
        for (u32 j = 0; j < size; j++) {
            u32 sum = 0;
            for (u32 k = 0; k < size; k++) {
                sum += (u32)a[i * size + k] * b[k * size + j];
            }
            c[i * size + j] = (i32)sum;
        }
    }
}

static void multiply_bits(u32 size, i32 *c, u16 *a, u16 *b) {
    for (u32 i = 0; i < size; i++) {
        for (u32 j = 0; j < size; j++) {
            u32 sum = 0;
            for (u32 k = 0; k < size; k++) {
                u32 product = (u32)a[i * size + k] * b[k * size + j];
                sum += (product >> 2 & 15) * (product >> 5 & 127);
            }
            c[i * size + j] = (i32)sum;
        }
    }
}

u64 coremark_matrix(u64 n) {
    u16 a[576];
    u16 b[576];
    i32 c[576];
    u32 seed = 1;
    for (u32 i = 0; i < N * N; i++) {
        seed = seed * 1103515245u + 12345u;
        a[i] = (u16)(seed >> 20);
        b[i] = (u16)(seed >> 24);
    }
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        add_constant(N, a, (u16)round);
        multiply_constant(N, c, a, 3);
        sum = sum * 31 + (u64)sum_of(N, c, 1000);
        multiply(N, c, a, b);
        sum = sum * 31 + (u64)sum_of(N, c, 100000);
        multiply_bits(N, c, a, b);
        sum = sum * 31 + (u64)sum_of(N, c, 1000);
        add_constant(N, a, (u16)(0 - (u32)round));
    }
    return sum;
}
