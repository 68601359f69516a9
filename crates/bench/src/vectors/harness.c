// Runs all versions of each kernel on the same input, in turns, and prints their least times.
//
// `kernels.h` defines VERSIONS, which counts copies, and `kernels`. A line of output has the kernel's name and, for each version, the least cycles of
// one call in each of BATCHES batches of rounds. The exit code is not zero if the result of a version differs from the first one.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <x86intrin.h>

typedef int64_t Kernel(const void *, const void *, void *, int64_t);
enum Fill { BYTES, WORDS_OF_TEXT, SINGLE, DOUBLE };
struct Case {
    const char *name;
    enum Fill fill;
    int64_t bytes;
    Kernel *versions[16];
};

#include "kernels.h"

enum { ROOM = 16384 + 64, BATCHES = 5, ROUNDS = 40, CYCLES = 30000 };

static _Alignas(64) unsigned char a[ROOM], b[ROOM], out[ROOM], expected[ROOM];

static uint64_t next(void) {
    static uint64_t state = 88172645463325252;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static void fill(unsigned char *at, enum Fill fill, int64_t bytes) {
    for (int64_t k = 0; k < ROOM; k += 8) {
        uint64_t word = next();
        double real = (double)(word >> 40) / (1 << 22) - 2;
        float reals[2] = {(float)real, (float)(word & 0xffff) / (1 << 14) - 2};
        word &= fill == WORDS_OF_TEXT ? 0x7f7f7f7f7f7f7f7f : ~(uint64_t)0;
        memcpy(at + k, fill == SINGLE ? (void *)reals : fill == DOUBLE ? (void *)&real : (void *)&word, 8);
    }
    if (fill == WORDS_OF_TEXT)
        at[bytes - 5] = 200;
}

static uint64_t time_of(Kernel *kernel, int64_t bytes, uint64_t times) {
    uint64_t start = __rdtsc();
    for (uint64_t k = 0; k < times; k++)
        kernel(a, b, out, bytes);
    return (__rdtsc() - start) / times;
}

int main(void) {
    for (const struct Case *c = kernels; c->name; c++) {
        fill(a, c->fill, c->bytes);
        fill(b, c->fill, c->bytes);
        if (c->fill == WORDS_OF_TEXT)
            b[0] = 200;
        int64_t result = 0;
        uint64_t best[VERSIONS][BATCHES];
        memset(best, 0xff, sizeof best);
        for (int v = 0; v < VERSIONS; v++) {
            memset(out, 0, ROOM);
            int64_t found = c->versions[v](a, b, out, c->bytes);
            if (v == 0) {
                result = found;
                memcpy(expected, out, ROOM);
            } else if (found != result || memcmp(out, expected, ROOM)) {
                printf("%s: version %d has another result than the first\n", c->name, v);
                return 1;
            }
        }
        uint64_t times = CYCLES / (time_of(c->versions[0], c->bytes, 10) + 1) + 1;
        for (int round = 0; round < BATCHES * ROUNDS; round++)
            for (int v = 0; v < VERSIONS; v++) {
                uint64_t cycles = time_of(c->versions[v], c->bytes, times);
                uint64_t *least = &best[v][round / ROUNDS];
                *least = cycles < *least ? cycles : *least;
            }
        printf("%s", c->name);
        for (int v = 0; v < VERSIONS; v++)
            for (int batch = 0; batch < BATCHES; batch++)
                printf(" %llu", (unsigned long long)best[v][batch]);
        printf("\n");
    }
}
