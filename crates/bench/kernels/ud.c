// A system of linear equations in integers by LU decomposition, after Embench's ud.
// tested: 1 => 18446744073709551611
// measured: 400 => 3167204171867791688
#include "kernel.h"
#define ROW 21

static i64 solve(i64 *a, i64 *b, i64 *x, i32 n) {
    i64 y[100];
    for (i32 i = 0; i < n; i++) {
        for (i32 j = i + 1; j <= n; j++) {
            i64 w = a[j * ROW + i];
            if (i != 0) {
                for (i32 k = 0; k < i; k++) {
                    w -= a[j * ROW + k] * a[k * ROW + i];
                }
            }
            a[j * ROW + i] = w / a[i * ROW + i];
        }
        for (i32 j = i + 1; j <= n; j++) {
            i64 w = a[(i + 1) * ROW + j];
            for (i32 k = 0; k <= i; k++) {
                w -= a[(i + 1) * ROW + k] * a[k * ROW + j];
            }
            a[(i + 1) * ROW + j] = w;
        }
    }
    y[0] = b[0];
    for (i32 i = 1; i <= n; i++) {
        i64 w = b[i];
        for (i32 j = 0; j < i; j++) {
            w -= a[i * ROW + j] * y[j];
        }
        y[i] = w;
    }
    x[n] = y[n] / a[n * ROW + n];
    for (i32 i = n - 1; i >= 0; i--) {
        i64 w = y[i];
        for (i32 j = i + 1; j <= n; j++) {
            w -= a[i * ROW + j] * x[j];
        }
        x[i] = w / a[i * ROW + i];
    }
    return x[0];
}

u64 ud(u64 n) {
    i64 a[441];
    i64 b[21];
    i64 x[21];
    i64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        for (i32 i = 0; i <= 20; i++) {
            i64 w = 0;
            for (i32 j = 0; j <= 20; j++) {
                a[i * ROW + j] = (i64)(i + 1 + (j + 1)) + (i64)(round & 3);
                if (i == j) {
                    a[i * ROW + j] *= 2;
                }
                w += a[i * ROW + j];
            }
            b[i] = w;
        }
        sum = sum * 31 + solve(a, b, x, 20) + x[7];
    }
    return (u64)sum;
}
