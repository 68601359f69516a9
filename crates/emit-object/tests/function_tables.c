/* Prints the tables of the `kingpost_` sections, as docs/sections.md describes them, and overwrites patchable calls. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECTION(name) extern const uint32_t __start_kingpost_##name[], __stop_kingpost_##name[]
SECTION(traps);
SECTION(stack_maps);
SECTION(debug_tags);
SECTION(patchable_calls);
SECTION(stack_slots);

long first(long), third(long *), all(long);
void second(void);

static long calls;
void hook(void) { calls++; }

static const char *name(uintptr_t address) {
    return address == (uintptr_t)first    ? "first"
           : address == (uintptr_t)second ? "second"
           : address == (uintptr_t)third  ? "third"
           : address == (uintptr_t)all    ? "all"
                                          : "?";
}

static uintptr_t start(const uint32_t *function) {
    return (uintptr_t)function + (intptr_t)(int32_t)function[0];
}

/* Prints a section whose entries have so many words. */
static int print(const char *section, const uint32_t *table, const uint32_t *stop, uint32_t words) {
    printf("%s\n", section);
    while (table < stop) {
        uint32_t functions = table[1], entries = table[2];
        const uint32_t *function = table + 4, *entry = function + 6 * functions;
        if (table[0] != 2 || table[3] != 0)
            return 0;
        for (; functions > 0; functions--, function += 6) {
            if (function[5] != 0)
                return 0;
            printf("%s %u %u", name(start(function)), function[1], function[4]);
            for (uint32_t i = function[2] * words; i < (function[2] + function[3]) * words; i++)
                printf(i % words == 0 ? " %u" : ":%u", entry[i]);
            printf("\n");
        }
        table = entry + words * entries;
    }
    return table == stop;
}

/* Overwrites the patchable calls of the first function that has any with no-ops, or puts back what stood there. */
static void patch(int with_nops) {
    static unsigned char saved[8];
    const uint32_t *function = __start_kingpost_patchable_calls + 4;
    const uint32_t *call = function + 6 * __start_kingpost_patchable_calls[1];
    unsigned char *at = (unsigned char *)start(function) + call[0] - call[1];
    uintptr_t page = (uintptr_t)at & -(uintptr_t)sysconf(_SC_PAGESIZE);
    mprotect((void *)page, (uintptr_t)at + 8 - page, PROT_READ | PROT_WRITE | PROT_EXEC);
    if (with_nops) {
        memcpy(saved, at, call[1]);
#ifdef __x86_64__
        memset(at, 0x90, call[1]);
#else
        memcpy(at, &(uint32_t){0xd503201f}, call[1]);
#endif
    } else {
        memcpy(at, saved, call[1]);
    }
    __builtin___clear_cache((char *)at, (char *)at + call[1]);
}

#define PRINT(name, words) print(#name, __start_kingpost_##name, __stop_kingpost_##name, words)

int main(void) {
    if (!PRINT(traps, 2) || !PRINT(stack_maps, 4) || !PRINT(debug_tags, 4) || !PRINT(patchable_calls, 2) ||
        !PRINT(stack_slots, 4))
        return 1;
    for (int with_nops = 1; with_nops >= -1; with_nops--) {
        if (with_nops >= 0)
            patch(with_nops);
        long before = calls, result = all(5);
        printf("%ld %ld\n", result, calls - before);
    }
    return 0;
}
