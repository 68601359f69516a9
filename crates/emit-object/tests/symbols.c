/* Calls functions of two objects that have one definition in common, and a function by its second name. */
#include <stdint.h>
#include <stdio.h>

extern const uint32_t __start_kingpost_traps[], __stop_kingpost_traps[];

long first(long), second(long), also_first(long), shared(long);
void *shared_in_first(void), *shared_in_second(void);
extern const long step, also_step;

/* Returns the number of records of a function in the tables of traps. */
static int records(uintptr_t wanted) {
    int found = 0;
    for (const uint32_t *table = __start_kingpost_traps; table < __stop_kingpost_traps;) {
        uint32_t functions = table[1], entries = table[2];
        const uint32_t *function = table + 4;
        for (; functions > 0; functions--, function += 6)
            found += (uintptr_t)function + (intptr_t)(int32_t)function[0] == wanted;
        table = function + 2 * entries;
    }
    return found;
}

int main(void) {
    printf("%ld %ld %ld\n", first(1), second(2), also_first(3));
    printf("%d %d\n", shared_in_first() == shared_in_second(), shared_in_first() == (void *)shared);
    printf("%d %d\n", records((uintptr_t)shared), records((uintptr_t)first));
    printf("%ld %d\n", also_step, &step == &also_step);
    return 0;
}
