// The largest singular value of an infinite matrix, after the Benchmarks Game's spectral-norm.
// tested: 1 => 1273846586
// measured: 60 => 1274209131
#include "kernel.h"
#define SIZE 64

static f64 element(i32 i, i32 j) {
    return 1.0 / (f64)((i + j) * (i + j + 1) / 2 + i + 1);
}

static void multiply(f64 *v, f64 *result) {
    for (i32 i = 0; i < SIZE; i++) {
        f64 sum = 0.0;
        for (i32 j = 0; j < SIZE; j++) {
            sum += element(i, j) * v[j];
        }
        result[i] = sum;
    }
}

static void multiply_transposed(f64 *v, f64 *result) {
    for (i32 i = 0; i < SIZE; i++) {
        f64 sum = 0.0;
        for (i32 j = 0; j < SIZE; j++) {
            sum += v[j] / (f64)((j + i) * (j + i + 1) / 2 + j + 1);
        }
        result[i] = sum;
    }
}

u64 spectral_norm(u64 n) {
    f64 u[64];
    f64 v[64];
    f64 w[64];
    for (i32 i = 0; i < SIZE; i++) {
        u[i] = 1.0;
        v[i] = 0.0;
    }
    for (u64 round = 0; round < n; round++) {
        multiply(u, w);
        multiply_transposed(w, v);
        multiply(v, w);
        multiply_transposed(w, u);
    }
    f64 uv = 0.0;
    f64 vv = 0.0;
    for (i32 i = 0; i < SIZE; i++) {
        uv += u[i] * v[i];
        vv += v[i] * v[i];
    }
    return (u64)(__builtin_sqrt(uv / vv) * 1000000000.0);
}
