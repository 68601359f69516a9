// Closures: code and environment in a table, called through the code's address in a random order.
// tested: 1 => 1811884
// measured: 1500 => 73392359163
#include "kernel.h"
#define CLOSURES 16

typedef u64 (*Code)(u64 *environment, u64 x);

static u64 add(u64 *environment, u64 x) {
    return x + environment[0];
}

static u64 scale(u64 *environment, u64 x) {
    return x * environment[0] + environment[1];
}

static u64 rotate(u64 *environment, u64 x) {
    return x << (environment[0] & 63) | x >> (64 - environment[0] & 63);
}

// Counts its calls.
static u64 count(u64 *environment, u64 x) {
    environment[0] += 1;
    return x ^ environment[0];
}

static u64 limit(u64 *environment, u64 x) {
    return x > environment[0] ? x % environment[0] : x;
}

static u64 apply(Code code, u64 *environment, u64 x) {
    return code(environment, x);
}

// Applies one closure to each element, and returns the sum of the results.
static u64 map(Code code, u64 *environment, u64 *values, u64 len) {
    u64 sum = 0;
    for (u64 i = 0; i < len; i++) {
        values[i] = code(environment, values[i]);
        sum += values[i];
    }
    return sum;
}

u64 closures(u64 n) {
    Code codes[16] = {add, scale, rotate, count, limit, scale, add, count, rotate, limit, scale, add, count, scale,
        limit, rotate};
    u64 environments[32];
    u64 values[64];
    u64 seed = 1;
    for (u64 i = 0; i < 32; i++) {
        seed = seed * 6364136223846793005ul + 1442695040888963407ul;
        environments[i] = (seed >> 48) + 1;
    }
    for (u64 i = 0; i < 64; i++) {
        values[i] = i;
    }
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        for (u64 i = 0; i < 100; i++) {
            seed = seed * 6364136223846793005ul + 1442695040888963407ul;
            u64 at = seed >> 60;
            sum = apply(codes[at], environments + at * 2, sum);
        }
        u64 at = round % CLOSURES;
        sum += map(codes[at], environments + at * 2, values, 64);
    }
    return sum;
}
