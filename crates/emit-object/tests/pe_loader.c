// Loads a linked PE image for Windows on AArch64, binds its imports to functions of this program, calls its functions,
// throws through them, and unwinds their frames by the records of the image: at calls, and at each instruction of
// prologues and epilogues.
#include "pe_image.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int bad;

static int64_t from_c_calls;
static int64_t pages(char *memory, int64_t bytes) {
    int64_t sum = 0;
    memset(memory, 1, bytes);
    for (int64_t i = 0; i < bytes; i += 4096) sum += memory[i];
    return sum;
}
static double double_of(double x) { return 2 * x; }
// Writes the registers that a callee preserves.
static int64_t spoils(int64_t x) {
    __asm__ volatile("" ::: "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "d8", "d9", "d10", "d11",
                     "d12", "d13", "d14", "d15");
    from_c_calls++;
    return x + 1;
}
// All arguments are in general-purpose registers.
static int print(char *to, const char *format, uint64_t a, int64_t b, uint64_t c) {
    double x, y;
    memcpy(&x, &a, 8);
    memcpy(&y, &c, 8);
    return sprintf(to, format, x, (int)b, y);
}
extern __int128 __divti3(__int128, __int128);
int64_t walk(void);
int64_t throws(int64_t);

static uint64_t leb(const uint8_t **at) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
}

// Finds the handler of a call in a table, as a personality routine does. Returns its offset in the function; 0 if there
// is none.
static uint64_t find_handler(const uint8_t *table, uint64_t call) {
    // The encodings: no other start, four bytes for each type, and numbers of variable length for calls.
    if (table[0] != 0xff || table[1] != 3) fail("unexpected encodings", "of handlers");
    table += 2;
    leb(&table);
    if (*table++ != 1) fail("unexpected encoding", "of calls");
    uint64_t size = leb(&table);
    for (const uint8_t *end = table + size; table < end;) {
        uint64_t start = leb(&table), length = leb(&table), handler = leb(&table), action = leb(&table);
        if (start <= call && call < start + length) {
            if (!handler != !action) fail("a handler", "without action");
            return handler;
        }
    }
    return 0;
}

void *import(const char *name) {
    static const struct { const char *name; void *address; } known[] = {
        { "pages", pages }, { "double_of", double_of }, { "spoils", spoils }, { "sprintf", print },
        { "__divti3", __divti3 }, { "walk", walk }, { "throws", throws }, { "__gxx_personality_seh0", find_handler },
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

// Executes an instruction of a prologue or epilogue. Returns 0 for others.
static int step(struct context *c) {
    uint32_t w = *(uint32_t *)c->pc, rd = w & 31, rn = w >> 5 & 31, rm = w >> 10 & 31, imm12 = w >> 10 & 0xfff;
    int64_t imm7 = (int64_t)((uint64_t)w << 42) >> 57;
    uint64_t *base = rn == 31 ? &c->sp : &c->x[rn], wide = (uint64_t)imm12 << (w >> 22 & 1 ? 12 : 0);
#define SP_OR_X(n) (*((n) == 31 ? &c->sp : &c->x[n]))
    if ((w & 0xffc00000) == 0xa9800000) { // stp, pre-indexed
        *base += imm7 * 8;
        ((uint64_t *)*base)[0] = c->x[rd], ((uint64_t *)*base)[1] = c->x[rm];
    } else if ((w & 0xffc00000) == 0xa8c00000) { // ldp, post-indexed
        c->x[rd] = ((uint64_t *)*base)[0], c->x[rm] = ((uint64_t *)*base)[1];
        *base += imm7 * 8;
    } else if ((w & 0xffc00000) == 0xa9000000 && rn == 31) { // stp
        ((uint64_t *)*base)[imm7] = c->x[rd], ((uint64_t *)*base)[imm7 + 1] = c->x[rm];
    } else if ((w & 0xffc00000) == 0xa9400000 && rn == 31) { // ldp
        c->x[rd] = ((uint64_t *)*base)[imm7], c->x[rm] = ((uint64_t *)*base)[imm7 + 1];
    } else if ((w & 0xffc003e0) == 0xf90003e0) { // str
        ((uint64_t *)*base)[imm12] = c->x[rd];
    } else if ((w & 0xffc003e0) == 0xf94003e0) { // ldr
        c->x[rd] = ((uint64_t *)*base)[imm12];
    } else if ((w & 0xffc003e0) == 0x3d8003e0) { // str q
        ((uint64_t *)*base)[imm12 * 2] = c->d[rd];
    } else if ((w & 0xffc003e0) == 0x3dc003e0) { // ldr q
        c->d[rd] = ((uint64_t *)*base)[imm12 * 2];
    } else if ((w & 0xff800000) == 0x91000000) { // add
        SP_OR_X(rd) = *base + wide;
    } else if ((w & 0xff800000) == 0xd1000000) { // sub
        SP_OR_X(rd) = *base - wide;
    } else if ((w & 0xff800000) == 0xd2800000) { // movz
        c->x[rd] = (uint64_t)(w >> 5 & 0xffff) << (w >> 21 & 3) * 16;
    } else if ((w & 0xff800000) == 0xf2800000) { // movk
        int shift = (w >> 21 & 3) * 16;
        c->x[rd] = (c->x[rd] & ~(0xffffull << shift)) | (uint64_t)(w >> 5 & 0xffff) << shift;
    } else if (w == 0xcb2f73ff) { // sub sp, sp, x15, lsl #4
        c->sp -= c->x[15] * 16;
    } else if (w >> 26 == 0x25) { // bl
        c->x[30] = c->x[16] = c->x[17] = 0xbad;
    } else {
        return 0;
    }
    c->pc += 4;
    return 1;
}

static struct context initial;
// Whether an epilogue pops arguments, so that the caller's stack pointer is known by its frame pointer only.
static int any_sp;

static void check_unwinding(const struct context *c, uint32_t function) {
    struct context caller = *c;
    unwind(&caller);
    int same = caller.pc == initial.x[30] && (any_sp || caller.sp == initial.sp);
    for (int i = 19; i < 30; i++) same &= caller.x[i] == initial.x[i];
    for (int i = 8; i < 16; i++) same &= caller.d[i] == initial.d[i];
    if (!same) {
        printf("wrong caller of function %x at +%x: pc %llx, sp %lld\n", function,
               (unsigned)(c->pc - (uint64_t)image - function), (unsigned long long)caller.pc, (long long)(caller.sp - initial.sp));
        bad = 1;
    }
}

// Unwinds before each instruction of all prologues and epilogues. Returns the number of instructions.
static int check_records(void) {
    static uint8_t stack[1 << 20] __attribute__((aligned(16)));
    struct runtime_function *f = AT(struct runtime_function, directories[EXCEPTIONS].rva);
    int checked = 0;
    for (uint32_t i = directories[EXCEPTIONS].size / 8; i; i--, f++) {
        memset(stack, 0, sizeof stack);
        for (int n = 0; n < 31; n++) initial.x[n] = 0x1000 + n;
        for (int n = 0; n < 32; n++) initial.d[n] = 0x2000 + n;
        initial.sp = (uint64_t)stack + sizeof stack - 4096;
        initial.pc = (uint64_t)image + f->begin;
        struct context c = initial, at_body = initial;
        uint32_t executed;
        do {
            check_unwinding(&c, f->begin), checked++;
            executed = *(uint32_t *)c.pc;
            if (!step(&c)) break;
            // mov x29, sp; sub sp, sp, ...
            if (executed == 0x910003fd || (executed & 0xff8003ff) == 0xd10003ff || executed == 0xcb2f73ff) at_body = c;
        } while (1);
        c = at_body;
        // The body writes all registers that the prologue saved.
        for (int n = 19; n < 29; n++)
            for (uint64_t *at = (uint64_t *)c.sp; at < (uint64_t *)initial.sp; at++)
                if (*at == initial.x[n]) c.x[n] = 0xbad;
        for (int n = 8; n < 16; n++)
            for (uint64_t *at = (uint64_t *)c.sp; at < (uint64_t *)initial.sp; at++)
                if (*at == initial.d[n]) c.d[n] = 0xbad;
        uint32_t words;
        function_at(initial.pc, &words);
        uint32_t *code = (uint32_t *)initial.pc;
        for (uint32_t at = 0; at < words; at++) {
            if (code[at] != 0xd65f03c0) continue;
            // The epilogue begins after the last instruction that it cannot have.
            uint32_t start = at;
            any_sp = 0;
            while (start > 0) {
                uint32_t w = code[start - 1];
                int loads = (w & 0xffc003e0) == 0xa94003e0 || (w & 0xffc003e0) == 0xa8c003e0;
                int saved = (w & 0x1f) >= 19 || (w & 0xffc003e0) == 0x3dc003e0;
                int single = ((w & 0xffc003e0) == 0xf94003e0 || (w & 0xffc003e0) == 0x3dc003e0) && (w & 31) != 31;
                int pops = (w & 0xff8003ff) == 0x910003ff;
                if (!((loads || single) && saved) && !pops && w != 0x910003bf) break;
                any_sp |= pops;
                start--;
            }
            struct context e = c;
            e.pc = initial.pc + start * 4;
            while (1) {
                check_unwinding(&e, f->begin), checked++;
                if (e.pc == initial.pc + at * 4ul) break;
                if (!step(&e)) fail("not an epilogue", "");
            }
            any_sp = 0;
        }
    }
    return checked;
}

// The stack pointer and the address after the call of a function, and a number that is not 0 if it lost a register.
static struct { uint64_t sp, pc, lost; } watched;
static int64_t walk_from(struct context *c) __attribute__((used));
static int64_t throw_from(struct context *c) __attribute__((used));
void resume(struct context *c, uint64_t pc);

// Begins a function that records its caller's registers.
#define RECORD(name, continuation) \
        ".globl " name "\n" \
        name ": stp x29, x30, [sp, #-16]!; sub sp, sp, #528\n" \
        ".irp n, 0, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30\n str x\\n, [sp, #8 * \\n]\n .endr\n" \
        ".irp n, 8, 9, 10, 11, 12, 13, 14, 15\n str d\\n, [sp, #264 + 8 * \\n]\n .endr\n" \
        "ldr x9, [sp, #528]; str x9, [sp, #232]\n" \
        "add x9, sp, #544; str x9, [sp, #248]; str x30, [sp, #256]\n" \
        "mov x0, sp; bl " continuation "; add sp, sp, #528; ldp x29, x30, [sp], #16; ret\n"

// Calls a function with distinct values in the registers that it preserves. `block` becomes x18.
int64_t call_watched(int64_t x, void *function, void *block, void *watched);
__asm__(".text\n"
        "call_watched:\n"
        "stp x29, x30, [sp, #-176]!; mov x29, sp\n"
        "stp x19, x20, [sp, #16]; stp x21, x22, [sp, #32]; stp x23, x24, [sp, #48]; stp x25, x26, [sp, #64]\n"
        "stp x27, x28, [sp, #80]; stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]; stp d12, d13, [sp, #128]\n"
        "stp d14, d15, [sp, #144]; str x3, [sp, #160]\n"
        "mov x18, x2\n"
        ".irp n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28\n mov x\\n, #0x700 + \\n\n .endr\n"
        ".irp n, 8, 9, 10, 11, 12, 13, 14, 15\n fmov d\\n, x2\n .endr\n"
        "mov x9, sp; str x9, [x3]; adr x9, 1f; str x9, [x3, #8]\n"
        "blr x1\n"
        "1: ldr x3, [sp, #160]\n"
        ".irp n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28\n sub x9, x\\n, #0x700 + \\n\n str x9, [x3, #16]\n cbnz x9, 2f\n .endr\n"
        "2:\n"
        "ldp d14, d15, [sp, #144]; ldp d12, d13, [sp, #128]; ldp d10, d11, [sp, #112]; ldp d8, d9, [sp, #96]\n"
        "ldp x27, x28, [sp, #80]; ldp x25, x26, [sp, #64]; ldp x23, x24, [sp, #48]; ldp x21, x22, [sp, #32]\n"
        "ldp x19, x20, [sp, #16]; ldp x29, x30, [sp], #176; ret\n"
        // Record the registers, then unwind.
        RECORD("walk", "walk_from")
        RECORD("throws", "throw_from")
        // Continues at an address with recorded registers.
        "resume: mov x16, x1; mov x17, x0\n"
        ".irp n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30\n ldr x\\n, [x17, #8 * \\n]\n .endr\n"
        ".irp n, 8, 9, 10, 11, 12, 13, 14, 15\n ldr d\\n, [x17, #264 + 8 * \\n]\n .endr\n"
        "ldp x0, x1, [x17]; ldr x9, [x17, #248]; mov sp, x9; br x16\n");

// Walks up to the first caller outside of the image. Returns the number of frames in between.
static int64_t walk_from(struct context *c) {
    int frames = 0;
    while (c->pc >= (uint64_t)image && c->pc < (uint64_t)image + image_size && frames < 20) {
        uint64_t after_call = c->pc;
        // The call is within the function even where nothing follows it.
        c->pc -= 4;
        uint32_t words;
        if (function_at(c->pc, &words)) unwind(c);
        else c->pc = c->x[30];
        if (c->pc == after_call) fail("a frame", "that is its own caller");
        frames++;
    }
    check("sp of the walk", c->sp, watched.sp);
    check("pc of the walk", c->pc, watched.pc);
    for (int i = 19; i < 29; i++) check("register of the walk", c->x[i], 0x700 + i);
    return frames;
}

// Unwinds up to the handler of a positive number, and continues there. Returns the negation of another number.
static int64_t throw_from(struct context *c) {
    int64_t value = c->x[0];
    if (value <= 0) return -value;
    while (1) {
        c->pc -= 4;
        uint32_t words;
        struct runtime_function *f = function_at(c->pc, &words);
        if (!f) fail("no handler", "of an exception");
        uint32_t *routine = routine_of(f);
        // Tables have the last byte of the call.
        uint64_t call = c->pc + 3 - (uint64_t)image - f->begin;
        uint64_t handler = routine ? ((uint64_t (*)(void *, uint64_t))(image + *routine))(routine + 1, call) : 0;
        if (handler) {
            c->x[0] = value, c->x[1] = 1;
            resume(c, (uint64_t)image + f->begin + handler);
        }
        unwind(c);
    }
}

// What x18 refers to: at 0x58, the array of the blocks of modules.
static uint64_t thread[16];

static int64_t call(const char *name, int64_t x) {
    watched.lost = 0;
    int64_t result = call_watched(x, defined(name), thread, &watched);
    check(name, watched.lost, 0);
    return result;
}

static double call_double(const char *name, double x) {
    return ((double (*)(double))defined(name))(x);
}

// Makes the block of a thread from the initial values, and returns it.
static uint8_t *make_block(void) {
    enum { INDEX = 3 };
    uint64_t *tls = AT(uint64_t, directories[TLS].rva), size = tls[1] - tls[0];
    uint64_t *blocks = calloc(INDEX + 1, 8);
    *(uint32_t *)tls[2] = INDEX;
    blocks[INDEX] = (uint64_t)aligned_alloc(16, (size + 15) / 16 * 16);
    memcpy((void *)blocks[INDEX], (void *)tls[0], size);
    thread[0x58 / 8] = (uint64_t)blocks;
    return (uint8_t *)blocks[INDEX];
}

static void check_thread(void) {
    make_block();
    int64_t *first = (int64_t *)call("thread_counter", 0);
    check("thread_counter", *first, 100);
    *first = 5;
    make_block();
    int64_t *second = (int64_t *)call("thread_counter", 0);
    check("another thread_counter", *second, 100);
    check("the first one", *first, 5);
    check("thread_zeros", *(int64_t *)call("thread_zeros", 0), 0);
    check("alignment of thread_zeros", call("thread_zeros", 0) & 15, 0);
}

int main(int argc, char **argv) {
    load(argv[argc - 1]);
    check("sums", ((int64_t (*)(int64_t, double, int64_t, float, int64_t, double))defined("sums"))(1, 2.0, 3, 4.0f, 5, 6.0), 21);
    check("through_pointers", call("through_pointers", 1), 20 + 200);
    check("large_frame", call("large_frame", 3), 25 + 3);
    check("keeps_floats", (int64_t)call_double("keeps_floats", 1.0), 2 * 36 + 1 + 35);
    for (int64_t i = -1; i < 8; i++) check("switches", call("switches", i), i < 0 || i > 5 ? -1 : i * i);
    check("divides", ((int64_t (*)(int64_t, int64_t))defined("divides"))(1000, 7), 142);
    check("calls_weak", call("calls_weak", 0), 6);
    check("counts", call("counts", 0) + call("counts", 0), 3);
    check("literal", (int64_t)(4 * call_double("literal", 1.5)), 16);
    check("prints", call("prints", 7), 11);
    check("text", strcmp(defined("buffer"), "1.50 7 2.50"), 0);
    check("system_v_inside", call("system_v_inside", 5), 11);
    check("stepped", call("stepped", 4), 5 + 12 + 4);
    check("walks", call("walks", 5), 2 + 1 + 5);
    int64_t (**functions)(int64_t) = defined("functions");
    check("functions", ((int64_t (*)(void))functions[0])() * 100 + functions[1](1), 502);
    check("tail", call("calls_tail", 3), 3 * 9 + 3);
    for (int64_t x = -3; x < 4; x += 2) {
        check("catches", call("catches", x), x < 0 ? -x : x * 3 + 1);
        check("catches_deeper", call("catches_deeper", x), x < 0 ? -x * 5 - 10 : x * 5 + 1);
    }
    check_thread();
    int checked = check_records();
    printf("%d instructions\n", checked);
    return bad;
}
