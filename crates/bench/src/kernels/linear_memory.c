/* What surrounds a function of a WebAssembly module: a linear memory with made-up contents, and the runtime's records that
   point to it. The memory has 4 GiB and guard pages, so that no access needs a check of its bounds. */
#include <stdint.h>
#include <sys/mman.h>

#define RECORDS ((uint64_t *)0x180000000)
#define LIMITS ((uint64_t *)0x180010000)
#define ARGUMENTS ((uint64_t *)0x180020000)
#define MEMORY 0x200100000
/* Bytes with contents; the rest is 0. */
#define FILLED 0x100000
#define RESERVED 0x200000000

static void reserve(uint64_t address, uint64_t size) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
    if (mmap((void *)address, size, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) __builtin_trap();
}

static void prepare(void) {
    static int is_reserved;
    if (!is_reserved) {
        reserve((uint64_t)RECORDS, 0x30000);
        reserve(MEMORY, RESERVED);
        is_reserved = 1;
    }
    /* A word of the records is the address of the memory, which is also a stack pointer within it: its low half is the end of
       the filled part. */
    for (int i = 0; i < 4096; i++) RECORDS[i] = LIMITS[i] = MEMORY;
    RECORDS[1] = RECORDS[6] = (uint64_t)LIMITS;
    LIMITS[1] = 0x10000; /* pages of the memory */
    LIMITS[3] = 0;       /* end of the stack */
    for (int i = 0; i < 16; i++) {
        ARGUMENTS[i] = 0x40000 + 0x8000 * i;
        ARGUMENTS[16 + i] = 1000;
    }
    /* Words that are small numbers and addresses within the memory. */
    uint32_t *words = (uint32_t *)MEMORY;
    uint64_t seed = 1;
    for (uint64_t i = 0; i < FILLED / 4; i++) {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        words[i] = i < 0x8000 ? 0 : (seed >> 40 & 0x7ff8) + (i % 2 ? 0 : (seed >> 33 & 3) << 16);
    }
}

/* Returns a number that depends on all contents. */
static uint64_t digest(void) {
    uint64_t hash = 1;
    for (uint64_t *word = (uint64_t *)MEMORY; word < (uint64_t *)(MEMORY + FILLED); word++) {
        hash = (hash ^ *word) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 29;
    }
    return hash;
}
