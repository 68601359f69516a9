/* The child process in which compiled functions run. It is linked with the object under test, which
   defines the table of trampolines and functions. It reads from its standard input the seconds of CPU
   time for all calls, then the calls. It writes the outcomes of the calls to its standard output. It
   defines few symbols, because a function under test may have any name, and it calls no library.

   Output: the addresses in the table, then for each call a header and its results, or a header and
   the location of a fault. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

enum { MAX_SLOTS = 4096, CLOBBERED = 1000, FAULTED = 9999 };

struct request { uint32_t index, inputs, outputs; };
struct header { uint64_t tag; };
struct fault { uint64_t tag, pc, address, sp; };

/* The kernel's `struct sigaction`. */
struct action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};
enum { RESTORER = 0x04000000 };

/* The number of entries, then the entries. */
extern const uint64_t __kingpost_table[];

static uint64_t slots[MAX_SLOTS][2] __attribute__((aligned(16)));
static char handler_stack[65536];

static long system_call(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return number;
#else
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c, x3 __asm__("x3") = d;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#endif
}

static void leave(int status) { system_call(SYS_exit_group, status, 0, 0, 0); }

static void put(const void *bytes, unsigned long size) {
    const char *at = bytes;
    while (size > 0) {
        long written = system_call(SYS_write, 1, (long)at, size, 0);
        if (written <= 0) leave(3);
        at += written;
        size -= written;
    }
}

static int get(void *bytes, unsigned long size) {
    char *at = bytes;
    while (size > 0) {
        long count = system_call(SYS_read, 0, (long)at, size, 0);
        if (count <= 0) return 0;
        at += count;
        size -= count;
    }
    return 1;
}

/* The address at which execution resumes after a fault, and the stack pointer at that address. */
extern char kingpost_recover[];
extern uint64_t kingpost_saved_sp;

static void handle(int number, siginfo_t *info, void *context) {
    ucontext_t *c = context;
#if defined(__x86_64__)
    greg_t *pc = &c->uc_mcontext.gregs[REG_RIP], *sp = &c->uc_mcontext.gregs[REG_RSP];
#else
    unsigned long long *pc = &c->uc_mcontext.pc, *sp = &c->uc_mcontext.sp;
#endif
    struct fault fault = {number, *pc, (uint64_t)info->si_addr, *sp};
    put(&fault, sizeof fault);
    /* The CPU time of all calls is used up. */
    if (number == SIGPROF) leave(0);
    *pc = (uint64_t)kingpost_recover;
    *sp = kingpost_saved_sp;
}

/* Calls a trampoline. Returns 0, or the number of a register that the callee did not preserve, or FAULTED. */
uint64_t kingpost_call_checked(uint64_t trampoline, void *slots);
#if defined(__x86_64__)
/* The return address of a signal handler. On other targets the kernel provides it. */
void kingpost_restore(void);
__asm__(".text\n"
        ".globl kingpost_call_checked, kingpost_recover, kingpost_restore\n"
        "kingpost_restore: mov $15, %eax; syscall\n"
        "kingpost_call_checked:\n"
        "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; sub $8, %rsp\n"
        "mov %rdi, %rax; mov %rsi, %rdi\n"
        "movabs $0xb1b2b3b4b5b6b7b8, %rbx; lea 1(%rbx), %rbp; lea 2(%rbx), %r12\n"
        "lea 3(%rbx), %r13; lea 4(%rbx), %r14; lea 5(%rbx), %r15\n"
        "mov %rsp, kingpost_saved_sp(%rip)\n"
        "call *%rax\n"
        "mov $1, %eax; cmp %rsp, kingpost_saved_sp(%rip); jne 1f\n"
        "movabs $0xb1b2b3b4b5b6b7b8, %rcx\n"
        "mov $2, %eax; cmp %rcx, %rbx; jne 1f\n"
        "inc %rcx; mov $3, %eax; cmp %rcx, %rbp; jne 1f\n"
        "inc %rcx; mov $4, %eax; cmp %rcx, %r12; jne 1f\n"
        "inc %rcx; mov $5, %eax; cmp %rcx, %r13; jne 1f\n"
        "inc %rcx; mov $6, %eax; cmp %rcx, %r14; jne 1f\n"
        "inc %rcx; mov $7, %eax; cmp %rcx, %r15; jne 1f\n"
        "xor %eax, %eax\n"
        "jmp 1f\n"
        "kingpost_recover: mov $9999, %eax\n"
        "1: mov kingpost_saved_sp(%rip), %rsp; cld\n"
        "add $8, %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n");
/* Touches the pages of a frame of `eax` bytes, writing only `rax` and `r11`. */
__asm__(".text\n"
        ".globl __kingpost_probestack\n"
        "__kingpost_probestack: lea 8(%rsp), %r11\n"
        "1: sub $4096, %r11; sub $4096, %rax; jb 2f\n"
        "testb $0, (%r11); jmp 1b\n"
        "2: sub %rax, %r11; testb $0, (%r11); ret\n");
#else
/* The callee must preserve registers 19 to 29 and the low halves of v8 to v15. The other registers and the upper halves
   of v8 to v15 hold garbage at the call. */
__asm__(".text\n"
        ".globl kingpost_call_checked, kingpost_recover\n"
        ".macro kingpost_expect number, register\n"
        "mov x0, #\\number; cmp \\register, x1; b.ne 1f; add x1, x1, #1\n"
        ".endm\n"
        "kingpost_call_checked:\n"
        "stp x29, x30, [sp, #-160]!\n"
        "stp x19, x20, [sp, #16]; stp x21, x22, [sp, #32]; stp x23, x24, [sp, #48]\n"
        "stp x25, x26, [sp, #64]; stp x27, x28, [sp, #80]\n"
        "stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]; stp d12, d13, [sp, #128]; stp d14, d15, [sp, #144]\n"
        "adrp x2, kingpost_saved_sp; add x2, x2, :lo12:kingpost_saved_sp; mov x3, sp; str x3, [x2]\n"
        "mov x16, x0; mov x0, x1\n"
        "ldr x1, =0xb1b2b3b4b5b6b7b8\n"
        ".irp r, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29\n"
        "mov x\\r, x1; add x1, x1, #1\n"
        ".endr\n"
        ".irp r, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "dup v\\r\\().2d, x1; add x1, x1, #1\n"
        ".endr\n"
        ".irp r, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
        "dup v\\r\\().2d, x1\n"
        ".endr\n"
        ".irp r, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18\n"
        "mov x\\r, x1\n"
        ".endr\n"
        "blr x16\n"
        "adrp x2, kingpost_saved_sp; ldr x1, [x2, :lo12:kingpost_saved_sp]; mov x3, sp\n"
        "kingpost_expect 1, x3\n"
        "ldr x1, =0xb1b2b3b4b5b6b7b8\n"
        "kingpost_expect 2, x19\n kingpost_expect 3, x20\n kingpost_expect 4, x21\n kingpost_expect 5, x22\n"
        "kingpost_expect 6, x23\n kingpost_expect 7, x24\n kingpost_expect 8, x25\n kingpost_expect 9, x26\n"
        "kingpost_expect 10, x27\n kingpost_expect 11, x28\n kingpost_expect 12, x29\n"
        ".irp r, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "fmov x2, d\\r; kingpost_expect (\\r + 5), x2\n"
        ".endr\n"
        "mov x0, #0\n"
        "b 1f\n"
        "kingpost_recover: mov x0, #9999\n"
        "1: adrp x2, kingpost_saved_sp; ldr x1, [x2, :lo12:kingpost_saved_sp]; mov sp, x1\n"
        "ldp x19, x20, [sp, #16]; ldp x21, x22, [sp, #32]; ldp x23, x24, [sp, #48]\n"
        "ldp x25, x26, [sp, #64]; ldp x27, x28, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]; ldp d12, d13, [sp, #128]; ldp d14, d15, [sp, #144]\n"
        "ldp x29, x30, [sp], #160; ret\n");
/* Touches the pages of a frame of x15 units of 16 bytes, writing only x16 and x17, in images for Windows. */
__asm__(".text\n"
        ".globl __chkstk\n"
        "__chkstk: lsl x16, x15, #4; mov x17, sp\n"
        "1: sub x17, x17, #4096; subs x16, x16, #4096; ldr xzr, [x17]; b.gt 1b; ret\n");
#endif
/* An image for Windows or macOS in the data of this program. */
extern char kingpost_image[] __attribute__((weak));
uint64_t kingpost_saved_sp;

/* The section `kingpost_handlers` of an object, which lists its exception handlers. docs/sections.md describes it. */
struct handler_table { uint32_t version, functions, handlers, zero; };
struct handler_function { int32_t address; uint32_t length, first, count, body_offset, zero; };
struct handler { uint32_t return_offset, offset, is_default, tag, context, place; };
extern const char __start_kingpost_handlers[] __attribute__((weak)), __stop_kingpost_handlers[] __attribute__((weak));

/* The address of the handler that was found, and the frame pointer and the stack pointer for it. */
struct resume { uint64_t pc, fp, sp; } kingpost_resume;

static int find_handler(uint64_t pc, uint64_t fp, uint32_t tag) {
    const char *at = __start_kingpost_handlers;
    while (at < __stop_kingpost_handlers) {
        const struct handler_table *table = (const void *)at;
        const struct handler_function *f = (const void *)(table + 1);
        const struct handler *handlers = (const void *)(f + table->functions), *found = 0;
        for (unsigned i = 0; i < table->functions; i++, f++) {
            uint64_t start = (uint64_t)&f->address + f->address;
            if (pc - start > f->length) continue;
            for (const struct handler *h = handlers + f->first; h < handlers + f->first + f->count; h++) {
                if (start + h->return_offset != pc || !(h->is_default ? !found : h->tag == tag)) continue;
                found = h;
                kingpost_resume = (struct resume){start + h->offset, fp, fp - f->body_offset};
                if (!h->is_default) break;
            }
        }
        if (found) return 1;
        at = (const char *)(handlers + table->handlers);
    }
    return 0;
}

/* Finds the handler of an exception and stores it in `kingpost_resume`. */
void kingpost_find_handler(uint64_t entry_fp, uint64_t fp, uint64_t pc, uint32_t tag) {
    while (!find_handler(pc, fp, tag)) {
        if (fp == entry_fp) __builtin_trap();
        pc = ((uint64_t *)fp)[1];
        fp = ((uint64_t *)fp)[0];
#if defined(__aarch64__)
        /* xpaclri: the return address may be signed. */
        __asm__("mov x30, %1; hint #7; mov %0, x30" : "=r"(pc) : "r"(pc) : "x30");
#endif
    }
}

/* Throws an exception. The arguments are the four of `kingpost_find_handler` and two payloads. */
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl __cranelift_throw\n"
        "__cranelift_throw: mov %r8, %rbx; mov %r9, %r12; and $-16, %rsp\n"
        "call kingpost_find_handler\n"
        "mov %rbx, %rax; mov %r12, %rdx\n"
        "mov kingpost_resume+8(%rip), %rbp; mov kingpost_resume+16(%rip), %rsp\n"
        "jmp *kingpost_resume(%rip)\n");
#else
__asm__(".text\n"
        ".globl __cranelift_throw\n"
        "__cranelift_throw: mov x19, x4; mov x20, x5\n"
        "bl kingpost_find_handler\n"
        "adrp x2, kingpost_resume; add x2, x2, :lo12:kingpost_resume\n"
        "mov x0, x19; mov x1, x20\n"
        "ldp x3, x29, [x2]; ldr x2, [x2, #16]; mov sp, x2\n"
        "br x3\n");
#endif

/* Gives the segments of an image the access that they have on macOS. */
static void protect_segments(void) {
    enum { SEGMENT = 0x19 };
    const char *command = kingpost_image + 32;
    for (unsigned count = *(uint32_t *)(kingpost_image + 16); count; count--, command += *(uint32_t *)(command + 4)) {
        long address = *(uint64_t *)(command + 24), size = *(uint64_t *)(command + 32);
        int access = *(uint32_t *)(command + 60);
        if (*(uint32_t *)command == SEGMENT && command[10] != 'L')
            system_call(SYS_mprotect, (long)kingpost_image + address, size, access, 0);
    }
}

/* Gives the sections of an image the access that they have on its system. */
static void protect_image(void) {
    if (*kingpost_image != 'M') {
        protect_segments();
        return;
    }
    enum { EXECUTE = 0x20000000, WRITE = 0x80000000 };
    const char *optional = kingpost_image + *(uint32_t *)(kingpost_image + 0x3c) + 24;
    const char *section = optional + *(uint16_t *)(optional - 4);
    for (unsigned count = *(uint16_t *)(optional - 18); count; count--, section += 40) {
        uint32_t size = *(uint32_t *)(section + 8), rva = *(uint32_t *)(section + 12), flags = *(uint32_t *)(section + 36);
        int access = PROT_READ | (flags & EXECUTE ? PROT_EXEC : 0) | (flags & WRITE ? PROT_WRITE : 0);
        system_call(SYS_mprotect, (long)kingpost_image + rva, (size + 4095) & -4096, access, 0);
    }
}

int main(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGPROF};
    stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
    system_call(SYS_sigaltstack, (long)&stack, 0, 0, 0);
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) {
#if defined(__x86_64__)
        struct action action = {handle, SA_SIGINFO | SA_ONSTACK | RESTORER, kingpost_restore, 0};
#else
        struct action action = {handle, SA_SIGINFO | SA_ONSTACK, 0, 0};
#endif
        system_call(SYS_rt_sigaction, signals[i], (long)&action, 0, sizeof action.mask);
    }
    if (kingpost_image) protect_image();
    put(__kingpost_table + 1, __kingpost_table[0] * 8);
    uint64_t seconds;
    if (!get(&seconds, sizeof seconds)) leave(3);
    struct itimerval timer = {.it_value = {.tv_sec = seconds}};
    system_call(SYS_setitimer, ITIMER_PROF, (long)&timer, 0, 0);
    struct request request;
    while (get(&request, sizeof request)) {
        if (request.inputs > MAX_SLOTS || request.outputs > MAX_SLOTS || !get(slots, request.inputs * 16ul)) break;
        uint64_t clobbered = kingpost_call_checked(__kingpost_table[1 + request.index], slots);
        if (clobbered == FAULTED) continue;
        struct header header = {clobbered ? CLOBBERED + clobbered : 0};
        put(&header, sizeof header);
        if (!clobbered) put(slots, request.outputs * 16ul);
    }
    leave(0);
}
