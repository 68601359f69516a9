/* Functions that compiled programs call, and a heap with a collector that moves every object.
 *
 * An object is a header and its fields, one word each. The header is odd: twice the number of fields plus one, and
 * in its upper half one bit for each field that is a reference. The header of an object that has moved is replaced by
 * its new address.
 */
#include "sprig.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words of each half of the heap. */
enum { WORDS = 1 << 16 };

/* Most references in the stack map of one call. */
enum { MAX_REFERENCES = 1000 };

/* Overwrites objects that have moved away, so that a stale reference is noticed. */
#define GONE UINT64_C(0xdead)

unsigned collections;

static kp_module running;
static bool always;

/* The half that holds the objects, the other one, and the number of used words. */
static uint64_t half_a[WORDS], half_b[WORDS];
static uint64_t *objects = half_a, *empty = half_b;
static size_t used;

static size_t words_of(uint64_t header) {
    return (header & 0xffffffff) / 2 + 1;
}

/* Returns the new address of an object, and moves it if it has not moved yet. */
static uint64_t forward(uint64_t reference, size_t *moved) {
    uint64_t *object = objects + (reference - (uint64_t)(uintptr_t)objects) / 8, header;
    if (reference == 0) {
        return 0;
    }
    header = *object;
    if (header == GONE) {
        fail(0, "a reference was not updated");
    }
    if (header % 2 != 0) {
        memcpy(empty + *moved, object, 8 * words_of(header));
        *object = (uint64_t)(uintptr_t)(empty + *moved);
        *moved += words_of(header);
    }
    return *object;
}

/* Moves the objects that the frame of the call which returns to an address refers to. */
static void update_frame(const void *return_address, char *frame, size_t *moved) {
    static kp_reference references[MAX_REFERENCES];
    uint32_t body_offset;
    size_t count, i;
    must(kp_module_stack_map_at(
        running, return_address, references, MAX_REFERENCES, &count, &body_offset, &failure));
    if (count > MAX_REFERENCES) {
        fail(0, "a call has too many references");
    }
    for (i = 0; i < count; i++) {
        uint64_t *place = (uint64_t *)(void *)(frame - body_offset + references[i].offset);
        *place = forward(*place, moved);
    }
}

/* Moves all objects that are in use to the other half. The caller is a compiled function with these pointers. */
static void collect(void **stack_pointer, void **frame_pointer) {
    /* The call of the allocator has pushed its return address below the caller's stack pointer. */
    const void *return_address = stack_pointer[-1];
    uint64_t *swapped = objects;
    size_t moved = 0, at, field;
    while (kp_module_function_at(running, return_address, NULL, NULL, NULL) == KP_OK) {
        update_frame(return_address, (char *)frame_pointer, &moved);
        /* The word at a frame pointer is the caller's frame pointer, and the next one the return address. */
        return_address = frame_pointer[1];
        frame_pointer = frame_pointer[0];
    }
    /* Objects that have moved may refer to objects that have not moved yet. */
    for (at = 0; at < moved; at += words_of(empty[at])) {
        for (field = 0; field + 1 < words_of(empty[at]); field++) {
            if (empty[at] >> (32 + field) & 1) {
                empty[at + field + 1] = forward(empty[at + field + 1], &moved);
            }
        }
    }
    for (at = 0; at < WORDS; at++) {
        objects[at] = GONE;
    }
    objects = empty;
    empty = swapped;
    used = moved;
    collections++;
}

/* Allocates an object for a compiled function with these pointers. */
static void *sprig_allocate(void **stack_pointer, void **frame_pointer, uint64_t header) {
    size_t words = words_of(header);
    uint64_t *object;
    /* The position of the call's return address is known only on x86-64. On other machines, nothing is collected. */
#if defined(__x86_64__)
    if (always || used + words > WORDS) {
        collect(stack_pointer, frame_pointer);
    }
#else
    (void)stack_pointer, (void)frame_pointer, (void)collect, (void)always;
#endif
    if (used + words > WORDS) {
        fail(0, "the heap is full");
    }
    object = objects + used;
    used += words;
    object[0] = header;
    memset(object + 1, 0, 8 * (words - 1));
    return object;
}

static void sprig_print_text(const uint64_t *text) {
    fwrite(text + 1, 1, (size_t)text[0], stdout);
    putchar('\n');
}

static void sprig_print_number(int64_t number) {
    printf("%lld\n", (long long)number);
}

/* Gives a module the address of a function. C has no conversion of a pointer to a function. */
#define ADD(function) \
    do { \
        memcpy(&address, &(function##_pointer), sizeof address); \
        must(kp_module_set_symbol(module, #function, address, &failure)); \
    } while (0)

void add_runtime(kp_module module) {
    void *(*sprig_allocate_pointer)(void **, void **, uint64_t) = sprig_allocate;
    void (*sprig_print_text_pointer)(const uint64_t *) = sprig_print_text;
    void (*sprig_print_number_pointer)(int64_t) = sprig_print_number;
    const void *address;
    ADD(sprig_allocate);
    ADD(sprig_print_text);
    ADD(sprig_print_number);
}

int64_t run_program(kp_module module, int64_t (*start)(int64_t), int64_t number, bool collects_always) {
    running = module;
    always = collects_always;
    return start(number);
}
