/* The runtime of programs that are linked: it allocates and never collects. */
#include <stdio.h>
#include <stdlib.h>

long sprig_main(long);

void *sprig_allocate(void *stack_pointer, void *frame_pointer, unsigned long header) {
    unsigned long *object = calloc((unsigned)header / 2 + 1, 8);
    if (!object) abort();
    object[0] = header;
    return object;
}

void sprig_print_text(const unsigned long *text) {
    printf("%.*s\n", (int)text[0], (const char *)(text + 1));
}

void sprig_print_number(long number) {
    printf("%ld\n", number);
}

int main(int count, char **words) {
    long number = count > 1 ? atol(words[1]) : 10;
    printf("%ld\n", sprig_main(number));
}
