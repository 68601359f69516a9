// Functions that mostly call: Takeuchi's, Ackermann's, and two that call each other.
// tested: 1 => 7108
// measured: 100 => 10509633235342329393
#include "kernel.h"

static i64 takeuchi(i64 x, i64 y, i64 z) {
    if (y >= x) {
        return z;
    }
    return takeuchi(takeuchi(x - 1, y, z), takeuchi(y - 1, z, x), takeuchi(z - 1, x, y));
}

static u64 ackermann(u64 m, u64 n) {
    if (m == 0) {
        return n + 1;
    }
    if (n == 0) {
        return ackermann(m - 1, 1);
    }
    return ackermann(m - 1, ackermann(m, n - 1));
}

static u64 male(u64 n);

// Hofstadter's female sequence; its calls alternate with the male one.
static u64 female(u64 n) {
    if (n == 0) {
        return 1;
    }
    return n - male(female(n - 1));
}

static u64 male(u64 n) {
    if (n == 0) {
        return 0;
    }
    return n - female(male(n - 1));
}

u64 recursion(u64 n) {
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        sum = sum * 31 + (u64)takeuchi((i64)(9 + (round & 3)), 6, 3);
        sum = sum * 31 + ackermann(2, 20 + (round & 7));
        sum = sum * 31 + female(14 + (round & 7));
    }
    return sum;
}
