// Planets that attract each other, after the Benchmarks Game's n-body.
// tested: 2 => 18446743904634808396
// measured: 20000 => 18446743904620288861
#include "kernel.h"
#define BODIES 5

// A body is seven floats: place, velocity, mass.
static void advance(f64 *bodies, f64 dt) {
    for (u32 i = 0; i < BODIES; i++) {
        f64 *a = bodies + i * 7;
        for (u32 j = i + 1; j < BODIES; j++) {
            f64 *b = bodies + j * 7;
            f64 dx = a[0] - b[0];
            f64 dy = a[1] - b[1];
            f64 dz = a[2] - b[2];
            f64 square = dx * dx + dy * dy + dz * dz;
            f64 magnitude = dt / (square * __builtin_sqrt(square));
            a[3] -= dx * b[6] * magnitude;
            a[4] -= dy * b[6] * magnitude;
            a[5] -= dz * b[6] * magnitude;
            b[3] += dx * a[6] * magnitude;
            b[4] += dy * a[6] * magnitude;
            b[5] += dz * a[6] * magnitude;
        }
    }
    for (u32 i = 0; i < BODIES; i++) {
        f64 *a = bodies + i * 7;
        a[0] += dt * a[3];
        a[1] += dt * a[4];
        a[2] += dt * a[5];
    }
}

static f64 energy(f64 *bodies) {
    f64 e = 0.0;
    for (u32 i = 0; i < BODIES; i++) {
        f64 *a = bodies + i * 7;
        e += 0.5 * a[6] * (a[3] * a[3] + a[4] * a[4] + a[5] * a[5]);
        for (u32 j = i + 1; j < BODIES; j++) {
            f64 *b = bodies + j * 7;
            f64 dx = a[0] - b[0];
            f64 dy = a[1] - b[1];
            f64 dz = a[2] - b[2];
            e -= a[6] * b[6] / __builtin_sqrt(dx * dx + dy * dy + dz * dz);
        }
    }
    return e;
}

u64 nbody(u64 n) {
    f64 bodies[35] = {
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 39.47841760435743,
        4.84143144246472090, -1.16032004402742839, -0.10362204447112311, 0.60632639299583202, 2.81198684491626016, -0.02521836165988763, 0.03769367487038949,
        8.34336671824457987, 4.12479856412430479, -0.40352341711432138, -1.01077434617879236, 1.82566237123041186, 0.00841576137658415, 0.01128632613196877,
        12.89436956213913103, -15.11115140169863125, -0.22330757889265573, 1.08279100644153536, 0.86871301816960822, -0.01083263740136364, 0.00172372405705971,
        15.37969711485091650, -25.91931460998796410, 0.17925877295037118, 0.97909073224389798, 0.59469899864767617, -0.03475595555078104, 0.00203368686992463
    };
    f64 px = 0.0;
    f64 py = 0.0;
    f64 pz = 0.0;
    for (u32 i = 0; i < BODIES; i++) {
        f64 *a = bodies + i * 7;
        px += a[3] * a[6];
        py += a[4] * a[6];
        pz += a[5] * a[6];
    }
    bodies[3] = -px / bodies[6];
    bodies[4] = -py / bodies[6];
    bodies[5] = -pz / bodies[6];
    for (u64 step = 0; step < n; step++) {
        advance(bodies, 0.01);
    }
    return (u64)(i64)(energy(bodies) * 1000000000000.0);
}
