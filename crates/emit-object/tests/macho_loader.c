// Loads a linked Mach-O image, binds its imports to functions of this program, and calls its functions.
#include "macho_image.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int bad;

static int64_t add_10(int64_t x) { return x + 10; }
static int64_t from_c[3] = { 10, 20, 30 };
static int64_t of_many(int64_t a, double b, int64_t c, float d, int64_t e, double f, int64_t g, int64_t h, int64_t i) {
    return a + (int64_t)b * 2 + c * 3 + (int64_t)d * 4 + e * 5 + (int64_t)f * 6 + g * 7 + h * 8 + i * 9;
}
static int64_t fill(char *memory, int64_t bytes) {
    int64_t sum = 0;
    memset(memory, 1, bytes);
    for (int64_t i = 0; i < bytes; i += 4096) sum += memory[i];
    return sum;
}
extern __int128 __divti3(__int128, __int128);

// The block of the current thread.
uint8_t *thread_block;
struct descriptor { void *routine; uint64_t key, offset; };
// Returns the address of the variable of a descriptor, and writes every register that it may write.
void variable_address(void);
#ifdef __x86_64__
__asm__(".globl variable_address\n"
        "variable_address: mov 16(%rdi), %rax; add thread_block(%rip), %rax; mov $0xbad, %edi\n"
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n pcmpeqd %xmm\\n, %xmm\\n\n .endr\n"
        "test %edi, %edi; ret\n");
#else
__asm__(".globl variable_address\n"
        "variable_address: ldr x16, [x0, #16]; adrp x17, thread_block; ldr x17, [x17, :lo12:thread_block]\n"
        "add x0, x16, x17; mov x9, #0xbad; mov x15, x9; mov x16, x9; mov x17, x9; cmp x9, #0; ret\n");
#endif
static struct descriptor of_host = { variable_address, 0, 0 };

void *import(const char *name) {
    static const struct { const char *name; void *address; } known[] = {
        { "_add_10", add_10 }, { "_from_c", from_c }, { "_of_many", of_many }, { "_fill", fill },
        { "___divti3", __divti3 }, { "_strlen", strlen }, { "__tlv_bootstrap", variable_address }, { "_of_host", &of_host }, { "dyld_stub_binder", abort },
    };
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) return known[i].address;
    fail("unknown import", name);
    return NULL;
}

static void check(const char *name, int64_t got, int64_t want) {
    if (got == want) return;
    printf("%s: %lld, expected %lld\n", name, (long long)got, (long long)want);
    bad = 1;
}

// Makes the block of a thread: the initial values, and a variable of this program behind them.
static void begin_thread(void) {
    enum { REGULAR = 0x11, ZEROS = 0x12 };
    uint64_t start = -1, end = 0;
    for (struct section *section = NULL; (section = next_section(section));) {
        uint32_t kind = section->flags & 0xff;
        if (kind != REGULAR && kind != ZEROS) continue;
        if (section->addr < start) start = section->addr;
        if (section->addr + section->size > end) end = section->addr + section->size;
    }
    uint64_t size = (end - start + 15) & -16;
    thread_block = aligned_alloc(16, size + 16);
    memcpy(thread_block, in_image(start), end - start);
    of_host.offset = size;
}

#define CALL(name, ...) ((int64_t (*)())defined(name))(__VA_ARGS__)

int main(int argc, char **argv) {
    load(argv[argc - 1]);
    check("_calls", CALL("_calls", (int64_t)5), 5 + 10 + 5);
    check("_through_pointers", CALL("_through_pointers", (int64_t)1), 20 + 200);
    check("_many", ((int64_t (*)(int64_t, double))defined("_many"))(2, 3.0), 2 * (1 + 3 + 5 + 7 + 8 + 9) + 3 * (2 + 4 + 6));
    check("_large_frame", CALL("_large_frame", (int64_t)3), 25 + 3);
    for (int64_t i = -1; i < 8; i++) check("_switches", CALL("_switches", i), i < 0 || i > 5 ? -1 : i * i);
    check("_divides", CALL("_divides", (int64_t)1000, (int64_t)7), 142);
    check("_length", CALL("_length"), 5);
    check("_counts", CALL("_counts") + CALL("_counts"), 3);
    check("_literal", (int64_t)((double (*)(double))defined("_literal"))(1.5), 4);
    int64_t (**functions)(int64_t) = defined("_functions");
    check("_functions", functions[0](1) * 100 + functions[1](1), 211);
    begin_thread();
    int64_t *first = (int64_t *)CALL("_counter_address");
    check("thread_counter", *first, 100);
    check("_keeps", ((int64_t (*)(int64_t, double))defined("_keeps"))(2, 3.0), 100 + 2 * 90 + 3 * 91);
    *first = 5;
    begin_thread();
    check("another thread_counter", *(int64_t *)CALL("_counter_address"), 100);
    check("the first one", *first, 5);
    check("thread_zeros", *(int64_t *)CALL("_zeros_address"), 0);
    check("alignment of thread_zeros", CALL("_zeros_address") & 15, 0);
    check("thread_pointer", **(int64_t **)CALL("_pointer_address"), 200);
    check("of_host", CALL("_address_of_host"), (int64_t)thread_block + of_host.offset);
    return bad;
}
