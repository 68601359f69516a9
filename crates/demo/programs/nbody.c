/* The reference for nbody.clif: the same arithmetic in the same order. */
#include <math.h>
#include <stdio.h>

static double b[5][8] = {
    {0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x0.0p+0, 0x1.3bd3cc9be45dep+5, 0x0.0p+0},
    {0x1.35da0343cd92cp+2, -0x1.290abc01fdb7cp+0, -0x1.a86f96c25ebf0p-4, 0x1.367069b93ccbcp-1, 0x1.67ef2f57d949bp+1, -0x1.9d2d79a5a0715p-6, 0x1.34c95d9ab33d8p-5, 0x0.0p+0},
    {0x1.0afcdc332ca67p+3, 0x1.07fcb31de01b0p+2, -0x1.9d353e1eb467cp-2, -0x1.02c21b887774fp+0, 0x1.d35e9bf1f8f13p+0, 0x1.13c485f1123b4p-7, 0x1.71d490d07c637p-7, 0x0.0p+0},
    {0x1.9c9eacea7d9cfp+3, -0x1.e38e8d626667ep+3, -0x1.c9557be257da0p-3, 0x1.1531ca9911befp+0, 0x1.bcc7f3e54bbc5p-1, -0x1.62f6bfaf23e7cp-7, 0x1.c3dd29cf41eb3p-10, 0x0.0p+0},
    {0x1.ec267a905572ap+3, -0x1.9eb5833c8a220p+4, 0x1.6f1f393abe540p-3, 0x1.f54b61659bc4ap-1, 0x1.307c631c4fba3p-1, -0x1.1cb88587665f6p-5, 0x1.0a8f3531799acp-9, 0x0.0p+0}};

int main(void) {
    double dt = 0.01;
    for (int step = 0; step < 200000; step++) {
        for (int i = 0; i < 5; i++) {
            for (int j = i + 1; j < 5; j++) {
                double dx = b[i][0] - b[j][0], dy = b[i][1] - b[j][1], dz = b[i][2] - b[j][2];
                double d2 = dx * dx + dy * dy + dz * dz;
                double mag = dt / (d2 * sqrt(d2));
                double mj = b[j][6] * mag, mi = b[i][6] * mag;
                b[i][3] = b[i][3] - dx * mj;
                b[i][4] = b[i][4] - dy * mj;
                b[i][5] = b[i][5] - dz * mj;
                b[j][3] = b[j][3] + dx * mi;
                b[j][4] = b[j][4] + dy * mi;
                b[j][5] = b[j][5] + dz * mi;
            }
        }
        for (int i = 0; i < 5; i++) {
            for (int k = 0; k < 3; k++) {
                b[i][k] = b[i][k] + b[i][k + 3] * dt;
            }
        }
    }
    fwrite(b, 1, sizeof b, stdout);
    return 0;
}
