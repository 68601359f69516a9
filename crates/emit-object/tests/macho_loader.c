// Maps a linked Mach-O image, adds the distance from its address to addresses in it, binds its imports to functions of this program, and calls its functions.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SEGMENT = 0x19, SYMTAB = 2, DYLD_INFO = 0x80000022, PROT_WRITABLE = 2, PROT_EXECUTABLE = 4 };

struct header { uint32_t magic, cputype, cpusubtype, filetype, ncmds, sizeofcmds, flags, reserved; };
struct command { uint32_t cmd, size; };
struct segment {
    struct command command;
    char name[16];
    uint64_t vmaddr, vmsize, fileoff, filesize;
    uint32_t maxprot, initprot, nsects, flags;
};
struct section {
    char name[16], segment[16];
    uint64_t addr, size;
    uint32_t offset, align, reloff, nreloc, flags, reserved[3];
};
struct symtab { struct command command; uint32_t symoff, nsyms, stroff, strsize; };
struct symbol { uint32_t name; uint8_t type, section; uint16_t desc; uint64_t value; };
struct dyld_info { struct command command; uint32_t rebase[2], bind[2], weak[2], lazy[2], exports[2]; };

static uint8_t *file;
static struct segment *segments[16];
static int segment_count, bad;
static struct symtab *symbols;
// The address of the image. Its own addresses begin at zero.
static const uint64_t base = 0x200000000;

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

static void fail(const char *what, const char *which) {
    printf("%s %s\n", what, which);
    exit(1);
}

// Returns the address of an import.
static void *import(const char *name) {
    static const struct { const char *name; void *address; } known[] = {
        { "_add_10", add_10 }, { "_from_c", from_c }, { "_of_many", of_many }, { "_fill", fill },
        { "___divti3", __divti3 }, { "_strlen", strlen }, { "__tlv_bootstrap", variable_address }, { "_of_host", &of_host }, { "dyld_stub_binder", abort },
    };
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) return known[i].address;
    fail("unknown import", name);
    return NULL;
}

static uint64_t leb(const uint8_t **at) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
}

// Runs the opcodes that name addresses in the image.
static void rebase(const uint8_t *at, const uint8_t *end) {
    uint64_t place = 0;
    while (at < end) {
        uint8_t op = *at++, low = op & 15;
        uint64_t count = 0, skip = 0;
        switch (op >> 4) {
        case 0: return;
        case 1: break;
        case 2: place = base + segments[low]->vmaddr + leb(&at); break;
        case 3: place += leb(&at); break;
        case 4: place += low * 8; break;
        case 5: count = low; break;
        case 6: count = leb(&at); break;
        case 7: count = 1; skip = leb(&at); break;
        case 8: count = leb(&at); skip = leb(&at); break;
        default: fail("unknown opcode", "of rebasing");
        }
        for (; count; count--, place += 8 + skip) *(uint64_t *)place += base;
    }
}

// Runs the opcodes that write the addresses of imports.
static void bind(const uint8_t *at, const uint8_t *end, int lazy) {
    const char *name = NULL;
    uint64_t place = 0, addend = 0;
    while (at < end) {
        uint8_t op = *at++, low = op & 15;
        uint64_t count = 1, skip = 0;
        switch (op >> 4) {
        case 0: if (!lazy) return; continue;
        case 1: case 3: case 5: continue;
        case 2: leb(&at); continue;
        case 4: name = (const char *)at; at += strlen(name) + 1; continue;
        case 6: addend = leb(&at); continue;
        case 7: place = base + segments[low]->vmaddr + leb(&at); continue;
        case 8: place += leb(&at); continue;
        case 9: break;
        case 10: skip = leb(&at); break;
        case 11: skip = low * 8; break;
        case 12: count = leb(&at); skip = leb(&at); break;
        default: fail("unknown opcode", "of binding");
        }
        while (count--) {
            *(uint64_t *)place = (uint64_t)import(name) + addend;
            place += 8 + skip;
        }
    }
}

static void load(const char *path) {
    int fd = open(path, O_RDONLY);
    off_t size = lseek(fd, 0, SEEK_END);
    file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    struct header *header = (struct header *)file;
    if (file == MAP_FAILED || header->magic != 0xfeedfacf) fail("no image", path);
    struct dyld_info *info = NULL;
    struct command *command = (struct command *)(header + 1);
    for (uint32_t i = 0; i < header->ncmds; i++) {
        if (command->cmd == SEGMENT) segments[segment_count++] = (struct segment *)command;
        if (command->cmd == SYMTAB) symbols = (struct symtab *)command;
        if (command->cmd == DYLD_INFO) info = (struct dyld_info *)command;
        command = (struct command *)((char *)command + command->size);
    }
    for (int i = 0; i < segment_count; i++) {
        struct segment *s = segments[i];
        if (!s->initprot) continue;
        void *want = (void *)(base + s->vmaddr);
        void *at = mmap(want, s->vmsize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (at != want) fail("cannot map", s->name);
        memcpy(at, file + s->fileoff, s->filesize);
    }
    if (info) {
        rebase(file + info->rebase[0], file + info->rebase[0] + info->rebase[1]);
        bind(file + info->bind[0], file + info->bind[0] + info->bind[1], 0);
        bind(file + info->lazy[0], file + info->lazy[0] + info->lazy[1], 1);
    }
    for (int i = 0; i < segment_count; i++) {
        struct segment *s = segments[i];
        int protection = s->initprot & PROT_EXECUTABLE ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE;
        if (s->initprot) mprotect((void *)(base + s->vmaddr), s->vmsize, protection);
        __builtin___clear_cache((char *)(base + s->vmaddr), (char *)(base + s->vmaddr + (s->initprot ? s->vmsize : 0)));
    }
}

static void *defined(const char *name) {
    struct symbol *all = (struct symbol *)(file + symbols->symoff);
    for (uint32_t i = 0; i < symbols->nsyms; i++)
        if ((all[i].type & 14) == 14 && !strcmp((char *)file + symbols->stroff + all[i].name, name))
            return (void *)(base + all[i].value);
    fail("undefined", name);
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
    for (int i = 0; i < segment_count; i++) {
        struct section *section = (struct section *)(segments[i] + 1);
        for (uint32_t n = segments[i]->nsects; n; n--, section++) {
            uint32_t kind = section->flags & 0xff;
            if (kind != REGULAR && kind != ZEROS) continue;
            if (section->addr < start) start = section->addr;
            if (section->addr + section->size > end) end = section->addr + section->size;
        }
    }
    uint64_t size = (end - start + 15) & -16;
    thread_block = aligned_alloc(16, size + 16);
    memcpy(thread_block, (void *)(base + start), end - start);
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
