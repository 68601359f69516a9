/* Prints the tables of the section `kingpost_traps`, as its documentation describes them. */
#include <stdint.h>
#include <stdio.h>

extern const uint32_t __start_kingpost_traps[], __stop_kingpost_traps[];
long first(long), third(long *);
void second(void);
void hook(void) {}

static const char *name(uintptr_t address) {
    return address == (uintptr_t)first    ? "first"
           : address == (uintptr_t)second ? "second"
           : address == (uintptr_t)third  ? "third"
                                          : "?";
}

int main(void) {
    const uint32_t *table = __start_kingpost_traps;
    while (table < __stop_kingpost_traps) {
        uint32_t functions = table[1], traps = table[2];
        const uint32_t *function = table + 4, *trap = function + 4 * functions;
        if (table[0] != 1 || table[3] != 0)
            return 1;
        for (; functions > 0; functions--, function += 4) {
            printf("%s %u", name((uintptr_t)function + (intptr_t)(int32_t)function[0]), function[1]);
            for (uint32_t i = function[2]; i < function[2] + function[3]; i++)
                printf(" %u:%u", trap[2 * i], trap[2 * i + 1]);
            printf("\n");
        }
        table = trap + 2 * traps;
    }
    return 0;
}
