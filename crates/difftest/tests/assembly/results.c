/* Runs all checks, and prints the name and the number of each failure. */
#include <stdio.h>

#define CHECKS(DO)                                                                                                     \
    DO(check_system_v) DO(check_in_memory) DO(check_extended) DO(check_i128) DO(check_tail) DO(check_preserved)        \
    DO(check_probed) DO(takes_system_v) DO(takes_in_memory) DO(takes_extended) DO(takes_i128) DO(takes_tail)

#define DECLARE(name) long name(void);
CHECKS(DECLARE)

int main(void) {
    int bad = 0;
    long wrong;
#define MAKE(name)                                                                                                     \
    if ((wrong = name()) != 0) {                                                                                       \
        printf("%s: %ld\n", #name, wrong);                                                                             \
        bad = 1;                                                                                                       \
    }
    CHECKS(MAKE)
    return bad;
}
