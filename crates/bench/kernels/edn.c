// Kernels of signal processing in integers: products of vectors, filters, a transform, after Embench's edn.
// tested: 2 => 13948633165348281519
// measured: 400 => 3325342677022368477
#include "kernel.h"

static void vec_mpy(i32 *y, i32 *x, i32 scale) {
    for (i32 i = 0; i < 150; i++) {
        y[i] += scale * x[i] >> 15;
    }
}

static i64 mac(i32 *a, i32 *b, i64 square, i64 *sum) {
    i64 product = *sum;
    for (i32 i = 0; i < 150; i++) {
        product += (i64)b[i] * a[i];
        square += (i64)b[i] * b[i];
    }
    *sum = product;
    return square;
}

static void fir(i32 *samples, i32 *coefficients, i64 *output) {
    for (i32 i = 0; i < 50; i++) {
        i64 sum = 0;
        for (i32 j = 0; j < 50; j++) {
            sum += (i64)samples[j + i] * coefficients[j];
        }
        output[i] = sum >> 15;
    }
}

static void fir_unrolled(i32 *x, i32 *h, i64 *y) {
    for (i32 j = 0; j < 100; j += 2) {
        i64 sum0 = 0;
        i64 sum1 = 0;
        i32 x0 = x[j];
        for (i32 i = 0; i < 32; i += 2) {
            i32 x1 = x[j + i + 1];
            i32 h0 = h[i];
            sum0 += (i64)x0 * h0;
            sum1 += (i64)x1 * h0;
            x0 = x[j + i + 2];
            i32 h1 = h[i + 1];
            sum0 += (i64)x1 * h1;
            sum1 += (i64)x0 * h1;
        }
        y[j] = sum0 >> 15;
        y[j + 1] = sum1 >> 15;
    }
}

static i64 lattice(i32 *b, i32 n, i32 *k, i64 f) {
    f -= (i64)b[n - 1] * k[n - 1];
    for (i32 i = n - 2; i >= 0; i--) {
        f -= (i64)b[i] * k[i];
        b[i + 1] = b[i] + (i32)(k[i] * (f >> 16) >> 16);
    }
    b[0] = (i32)(f >> 16);
    return f;
}

static void iir(i32 *coefficients, i32 *input, i64 *output, i32 *state) {
    i32 s1 = state[0];
    i32 s2 = state[1];
    i32 x = input[0];
    for (i32 i = 0; i < 50; i++) {
        i32 t = x + (coefficients[2] * s1 >> 15) + (coefficients[3] * s2 >> 15);
        x = t + (coefficients[0] * s1 >> 15) + (coefficients[1] * s2 >> 15);
        s2 = s1;
        s1 = t & 0x3fff;
        output[i] = x;
        x &= 0x3fff;
    }
    state[0] = s1;
    state[1] = s2;
}

static void transform(i32 *d) {
    for (i32 pass = 0; pass < 2; pass++) {
        for (i32 row = 0; row < 8; row++) {
            i32 *p = pass == 0 ? d + row * 8 : d + row;
            i32 step = pass == 0 ? 1 : 8;
            i32 t0 = p[0] + p[step * 7];
            i32 t7 = p[0] - p[step * 7];
            i32 t1 = p[step] + p[step * 6];
            i32 t6 = p[step] - p[step * 6];
            i32 t2 = p[step * 2] + p[step * 5];
            i32 t5 = p[step * 2] - p[step * 5];
            i32 t3 = p[step * 3] + p[step * 4];
            i32 t4 = p[step * 3] - p[step * 4];
            i32 t10 = t0 + t3;
            i32 t13 = t0 - t3;
            i32 t11 = t1 + t2;
            i32 t12 = t1 - t2;
            p[0] = t10 + t11 >> 1;
            p[step * 4] = t10 - t11 >> 1;
            i32 z1 = (t12 + t13) * 4433 >> 13;
            p[step * 2] = z1 + (t13 * 6270 >> 13) >> 1;
            p[step * 6] = z1 - (t12 * 15137 >> 13) >> 1;
            i32 z2 = (t4 + t7) * 7373 >> 13;
            i32 z3 = (t5 + t6) * 20995 >> 13;
            p[step * 7] = (t4 * 2446 >> 13) - z2 >> 1;
            p[step * 5] = (t5 * 16819 >> 13) - z3 >> 1;
            p[step * 3] = (t6 * 25172 >> 13) - z3 >> 1;
            p[step] = (t7 * 12299 >> 13) - z2 >> 1;
        }
    }
}

u64 edn(u64 n) {
    i32 a[200];
    i32 b[200];
    i64 output[200];
    i32 d[64];
    i32 state[2] = {1, 2};
    i64 product[1] = {0};
    i64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        for (i32 i = 0; i < 200; i++) {
            a[i] = (i * 37 + (i32)round & 0x7ff) - 1000;
            b[i] = (i * 91 & 0x7ff) - 900;
        }
        for (i32 i = 0; i < 64; i++) {
            d[i] = a[i] & 255;
        }
        vec_mpy(a, b, 4660);
        sum = sum * 31 + mac(a, b, sum, product);
        fir(a, b, output);
        sum = sum * 31 + output[17];
        fir_unrolled(a, b, output);
        sum = sum * 31 + output[71];
        sum = sum * 31 + lattice(a, 100, b, sum >> 20);
        iir(b, a, output, state);
        sum = sum * 31 + output[49];
        transform(d);
        sum = sum * 31 + d[9];
    }
    return (u64)(sum + product[0]);
}
