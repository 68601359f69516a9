/* The reference for mandelbrot.clif: the same arithmetic in the same order. */
#include <stdio.h>

int main(void) {
    printf("P5\n640 480\n255\n");
    for (int row = 0; row < 480; row++) {
        for (int column = 0; column < 640; column++) {
            double im = row * (1.0 / 200) - 1.2, re = column * (1.0 / 200) - 2.25;
            double x = 0, y = 0;
            int steps = 0;
            while (steps < 255 && !(x * x + y * y > 4)) {
                double next = x * x - y * y + re;
                y = (x + x) * y + im;
                x = next;
                steps++;
            }
            putchar(steps);
        }
    }
    return 0;
}
