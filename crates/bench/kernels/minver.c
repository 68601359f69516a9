// The inverse of a matrix of floats by elimination with pivots, after Embench's minver.
// tested: 2 => 38
// measured: 3000 => 167758
#include "kernel.h"
#define SIDE 6

static f64 absolute(f64 x) {
    return x < 0.0 ? -x : x;
}

static f64 invert(f64 *a, i32 *work) {
    f64 determinant = 1.0;
    for (i32 k = 0; k < SIDE; k++) {
        work[k] = k;
    }
    for (i32 k = 0; k < SIDE; k++) {
        f64 largest = 0.0;
        i32 row = k;
        for (i32 i = k; i < SIDE; i++) {
            f64 x = absolute(a[i * SIDE + k]);
            if (x > largest) {
                largest = x;
                row = i;
            }
        }
        if (largest <= 0.000000000001) {
            return 0.0;
        }
        f64 pivot = a[row * SIDE + k];
        determinant *= pivot;
        if (row != k) {
            determinant = -determinant;
            i32 swap = work[row];
            work[row] = work[k];
            work[k] = swap;
            for (i32 j = 0; j < SIDE; j++) {
                f64 x = a[row * SIDE + j];
                a[row * SIDE + j] = a[k * SIDE + j];
                a[k * SIDE + j] = x;
            }
        }
        for (i32 i = 0; i < SIDE; i++) {
            a[k * SIDE + i] /= pivot;
        }
        for (i32 i = 0; i < SIDE; i++) {
            if (i != k) {
                f64 factor = a[i * SIDE + k];
                if (factor != 0.0) {
                    for (i32 j = 0; j < SIDE; j++) {
                        if (j != k) {
                            a[i * SIDE + j] -= factor * a[k * SIDE + j];
                        }
                    }
                    a[i * SIDE + k] = -factor / pivot;
                }
            }
        }
        a[k * SIDE + k] = 1.0 / pivot;
    }
    for (i32 i = 0; i < SIDE; i++) {
        while (work[i] != i) {
            i32 k = work[i];
            i32 swap = work[k];
            work[k] = k;
            work[i] = swap;
            for (i32 j = 0; j < SIDE; j++) {
                f64 x = a[j * SIDE + i];
                a[j * SIDE + i] = a[j * SIDE + k];
                a[j * SIDE + k] = x;
            }
        }
    }
    return determinant;
}

u64 minver(u64 n) {
    f64 a[36];
    i32 work[6];
    f64 sum = 0.0;
    for (u64 round = 0; round < n; round++) {
        u32 seed = (u32)round + 1;
        for (u32 i = 0; i < SIDE * SIDE; i++) {
            seed = seed * 1103515245u + 12345u;
            a[i] = (f64)(i32)(seed >> 16 & 255) - 127.0;
        }
        invert(a, work);
        sum += absolute(a[7]) + absolute(a[14]);
    }
    return (u64)(sum * 1000.0);
}
