/* Prints how many functions the tables of traps have, in a program without the functions that it does not use. */
#include <stdint.h>
#include <stdio.h>

extern const uint32_t __start_kingpost_traps[], __stop_kingpost_traps[];
long first(long);

int main(void) {
    uint32_t functions = 0;
    for (const uint32_t *table = __start_kingpost_traps; table < __stop_kingpost_traps;) {
        functions += table[1];
        table += 4 + 6 * table[1] + 2 * table[2];
    }
    printf("%ld %u\n", first(1), functions);
    return 0;
}
