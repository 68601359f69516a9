/* Threads use thread-local symbols of compiled functions and of C, each its own. `FROM_C` defines the one of C. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#ifdef FROM_C
__thread long from_c = 1000;
#else
extern __thread long counter, zeros[32], *pointer, from_c;
extern long anchor;
long bump(long, long);
long *counter_address(void), *zeros_address(void);

static void *work(void *data) {
    long id = (long)data, ours = 100, sum = 0, c = 1000;
    if (counter_address() != &counter || zeros_address() != zeros + 24 || (uintptr_t)zeros % 64 != 0)
        return "addresses differ";
    if (pointer != &anchor)
        return "a pointer in thread-local data";
    for (long i = 0; i < 1000; i++) {
        ours += id;
        sum += i;
        c += 3;
        if (bump(id, i) != ours + sum + c || counter != ours || zeros[24] != sum || from_c != c)
            return "values differ";
    }
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    for (int round = 0; round < 4; round++) {
        for (long i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, work, (void *)(i + 7 * round));
        for (int i = 0; i < 4; i++) {
            void *error;
            pthread_join(threads[i], &error);
            if (error) {
                puts(error);
                return 1;
            }
        }
    }
    return 0;
}
#endif
