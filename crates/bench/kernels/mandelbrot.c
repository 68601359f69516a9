// Points of the Mandelbrot set, after the Benchmarks Game's mandelbrot.
// tested: 16 => 3978941175645691171
// measured: 128 => 12623488612994720612
#include "kernel.h"

u64 mandelbrot(u64 n) {
    u64 sum = 0;
    i32 size = (i32)n;
    for (i32 y = 0; y < size; y++) {
        f64 ci = 2.0 * (f64)y / (f64)size - 1.0;
        u8 bits = 0;
        for (i32 x = 0; x < size; x++) {
            f64 cr = 2.0 * (f64)x / (f64)size - 1.5;
            f64 zr = 0.0;
            f64 zi = 0.0;
            f64 tr = 0.0;
            f64 ti = 0.0;
            i32 i = 0;
            while (i < 50 && tr + ti <= 4.0) {
                zi = 2.0 * zr * zi + ci;
                zr = tr - ti + cr;
                tr = zr * zr;
                ti = zi * zi;
                i++;
            }
            bits = (u8)(bits << 1 | (tr + ti <= 4.0));
            if ((x & 7) == 7) {
                sum = sum * 31 + bits;
            }
        }
    }
    return sum;
}
