/*
 * Stops at every instruction of functions under test and has the system's unwinder walk the stack there.
 *
 * `enter` gives every callee-saved register a pattern and calls a function. On x86-64 it turns single-stepping on; on
 * AArch64, where emulators cannot do that, a breakpoint stands in place of every instruction until it is come by. The
 * handler looks only at stops inside functions that the section `kingpost_traps` lists. There the walk must come by `enter`, with
 * the patterns in all callee-saved registers and the stack pointer from before the call, and then by `main`.
 * A trap is one more place to walk from; it ends the call. With an argument, a walk along frame pointers from there has to
 * come by the same places as the unwinder.
 *
 * Prints, for each function in order, the offsets at which the walk was right.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

extern const uint32_t __start_kingpost_traps[], __start_kingpost_handlers[];
extern const char enter[], enter_end[];
long enter_function(long (*)(long), long);
uintptr_t entered_sp;

#if defined(__x86_64__)
static const int saved[] = {3, 6, 12, 13, 14, 15}; /* as DWARF numbers them */
#define PC(context) ((context)->uc_mcontext.gregs[REG_RIP])
#define FP(context) ((context)->uc_mcontext.gregs[REG_RBP])

asm(".text\n"
    ".type enter_function, @function\n"
    "enter_function: enter:\n"
    ".cfi_startproc\n"
    "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbx, 0\n"
    "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbp, 0\n"
    "push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r12, 0\n"
    "push %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r13, 0\n"
    "push %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r14, 0\n"
    "push %r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r15, 0\n"
    "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
    "mov %rsp, entered_sp(%rip)\n"
    "mov %rdi, %rax\n"
    "mov %rsi, %rdi\n"
    "mov $0x10003, %ebx\n"
    "mov $0x10006, %ebp\n"
    "mov $0x1000c, %r12d\n"
    "mov $0x1000d, %r13d\n"
    "mov $0x1000e, %r14d\n"
    "mov $0x1000f, %r15d\n"
    "pushfq\n"
    "orl $0x100, (%rsp)\n"
    "popfq\n"
    "call *%rax\n"
    "pushfq\n"
    "andl $~0x100, (%rsp)\n"
    "popfq\n"
    "add $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
    "pop %r15\n.cfi_adjust_cfa_offset -8\n"
    "pop %r14\n.cfi_adjust_cfa_offset -8\n"
    "pop %r13\n.cfi_adjust_cfa_offset -8\n"
    "pop %r12\n.cfi_adjust_cfa_offset -8\n"
    "pop %rbp\n.cfi_adjust_cfa_offset -8\n"
    "pop %rbx\n.cfi_adjust_cfa_offset -8\n"
    "ret\n"
    ".cfi_endproc\n"
    "enter_end:\n");

/* What `probestack` calls: touches every page of a frame of rax bytes. */
asm(".text\n"
    ".globl __kingpost_probestack\n"
    "__kingpost_probestack: lea 8(%rsp), %r11\n"
    "1: sub $4096, %r11\n"
    "sub $4096, %rax\n"
    "jb 2f\n"
    "testb $0, (%r11)\n"
    "jmp 1b\n"
    "2: sub %rax, %r11\n"
    "testb $0, (%r11)\n"
    "ret\n");

#define RESUME(fp, sp, pc, first, second)                                                                              \
    asm volatile("mov %0, %%r11\nmov %1, %%r10\nmov %2, %%r9\nmov %3, %%rax\nmov %4, %%rdx\n"                          \
                 "mov %%r11, %%rbp\nmov %%r10, %%rsp\njmp *%%r9"                                                        \
                 :                                                                                                     \
                 : "r"(fp), "r"(sp), "r"(pc), "r"(first), "r"(second)                                                  \
                 : "rax", "rdx", "r9", "r10", "r11")

static void plant(void) {}
static void pull(uintptr_t ip) { (void)ip; }
#else
/* 64 is added to the numbers of vector registers, of which only the lower halves are preserved. */
static const int saved[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 72, 73, 74, 75, 76, 77, 78, 79};
#define PC(context) ((context)->uc_mcontext.pc)
#define FP(context) ((context)->uc_mcontext.regs[29])

asm(".text\n"
    ".type enter_function, %function\n"
    "enter_function: enter:\n"
    ".cfi_startproc\n"
    "stp x29, x30, [sp, #-160]!\n.cfi_def_cfa_offset 160\n.cfi_offset x29, -160\n.cfi_offset x30, -152\n"
    "stp x19, x20, [sp, #16]\n.cfi_offset x19, -144\n.cfi_offset x20, -136\n"
    "stp x21, x22, [sp, #32]\n.cfi_offset x21, -128\n.cfi_offset x22, -120\n"
    "stp x23, x24, [sp, #48]\n.cfi_offset x23, -112\n.cfi_offset x24, -104\n"
    "stp x25, x26, [sp, #64]\n.cfi_offset x25, -96\n.cfi_offset x26, -88\n"
    "stp x27, x28, [sp, #80]\n.cfi_offset x27, -80\n.cfi_offset x28, -72\n"
    "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
    "adrp x2, entered_sp\nadd x2, x2, :lo12:entered_sp\nmov x3, sp\nstr x3, [x2]\n"
    "mov x16, x0\nmov x0, x1\n"
    ".irp r, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29\n"
    "movz x\\r, #1, lsl #16\nadd x\\r, x\\r, #\\r\n"
    ".endr\n"
    ".irp r, 8, 9, 10, 11, 12, 13, 14, 15\n"
    "movz x1, #1, lsl #16\nadd x1, x1, #(\\r + 64)\ndup v\\r\\().2d, x1\n"
    ".endr\n"
    "blr x16\n"
    "ldp x19, x20, [sp, #16]\nldp x21, x22, [sp, #32]\nldp x23, x24, [sp, #48]\n"
    "ldp x25, x26, [sp, #64]\nldp x27, x28, [sp, #80]\n"
    "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\n"
    "ldp x29, x30, [sp], #160\n.cfi_def_cfa_offset 0\n"
    "ret\n"
    ".cfi_endproc\n"
    "enter_end:\n");

#define RESUME(fp, sp, pc, first, second)                                                                              \
    asm volatile("mov x9, %0\nmov x10, %1\nmov x11, %2\nmov x0, %3\nmov x1, %4\nmov x29, x9\nmov sp, x10\nbr x11"      \
                 :                                                                                                     \
                 : "r"(fp), "r"(sp), "r"(pc), "r"(first), "r"(second)                                                  \
                 : "x0", "x1", "x9", "x10", "x11")

enum { BREAKPOINT = 0xd4200000, PAGE = 65536 };
/* What stands in the code, by function. */
static uint32_t *instructions[256];

/* The code of a function and how many words it has. */
static uint32_t *code(uint32_t i, uint32_t *words) {
    const uint32_t *function = __start_kingpost_traps + 4 + 6 * i;
    *words = function[1] / 4;
    return (uint32_t *)((uintptr_t)function + (intptr_t)(int32_t)function[0]);
}

/* Puts a breakpoint in place of every instruction. */
static void plant(void) {
    for (uint32_t i = 0, words; i < __start_kingpost_traps[1]; i++) {
        uint32_t *at = code(i, &words);
        uintptr_t page = (uintptr_t)at & -PAGE;
        mprotect((void *)page, (uintptr_t)(at + words) - page, PROT_READ | PROT_WRITE | PROT_EXEC);
        instructions[i] = memcpy(malloc(4 * words), at, 4 * words);
        for (uint32_t k = 0; k < words; k++)
            at[k] = BREAKPOINT;
        __builtin___clear_cache((char *)at, (char *)(at + words));
    }
}

/* Puts one instruction back. */
static void pull(uintptr_t ip) {
    for (uint32_t i = 0, words; i < __start_kingpost_traps[1]; i++) {
        uint32_t *at = code(i, &words), *here = (uint32_t *)ip;
        if (here >= at && here < at + words) {
            *here = instructions[i][here - at];
            __builtin___clear_cache((char *)here, (char *)(here + 1));
        }
    }
}
#endif

int main(int, char **);

/* How far a walk has come. */
struct walk {
    uintptr_t from; /* the instruction that was interrupted */
    int at_from, at_enter, at_main;
    uintptr_t *frame; /* the next one, if frame pointers are walked along as well */
    const char *wrong;
};
static int has_frame_pointers;

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *data) {
    struct walk *walk = data;
    int before = 0;
    uintptr_t ip = _Unwind_GetIPInfo(context, &before);
    if (!walk->at_from) {
        walk->at_from = before && ip == walk->from;
        return _URC_NO_REASON;
    }
    if (walk->frame) {
        /* Without the signature of AArch64. */
        int is_there = (walk->frame[1] & 0xffffffffffff) == ip;
        walk->wrong = is_there ? walk->wrong : "the walk along frame pointers";
        walk->frame = is_there ? (uintptr_t *)walk->frame[0] : NULL;
    }
    if (ip >= (uintptr_t)enter && ip < (uintptr_t)enter_end) {
        walk->at_enter = 1;
        for (unsigned i = 0; i < sizeof saved / sizeof *saved; i++)
            if (_Unwind_GetGR(context, saved[i]) != (uintptr_t)(0x10000 + saved[i]))
                walk->wrong = "a callee-saved register";
        walk->frame = NULL;
        if (_Unwind_GetCFA(context) != entered_sp)
            walk->wrong = "the stack pointer";
    } else if (walk->at_enter && _Unwind_GetRegionStart(context) == (uintptr_t)main) {
        walk->at_main = 1;
        return _URC_NORMAL_STOP;
    }
    return _URC_NO_REASON;
}

/* Where the walk was right: one byte per byte of code. */
static char *visited[256];
static sigjmp_buf end_of_call;

static void stop(int signal, siginfo_t *info, void *data) {
    (void)info;
    uintptr_t ip = PC((ucontext_t *)data);
    const uint32_t *function = __start_kingpost_traps + 4;
    for (uint32_t i = 0; i < __start_kingpost_traps[1]; i++, function += 6) {
        uintptr_t offset = ip - ((uintptr_t)function + (intptr_t)(int32_t)function[0]);
        if (offset >= function[1])
            continue;
        struct walk walk = {.from = ip};
        if (signal != SIGTRAP && has_frame_pointers)
            walk.frame = (uintptr_t *)FP((ucontext_t *)data);
        _Unwind_Backtrace(visit, &walk);
        if (!walk.wrong && !walk.at_from)
            walk.wrong = "the walk before the function";
        if (!walk.wrong && !walk.at_enter)
            walk.wrong = "the walk to the caller";
        if (!walk.wrong && !walk.at_main)
            walk.wrong = "the walk to main";
        if (walk.wrong) {
            printf("wrong at offset %#lx of function %u: %s\n", (long)offset, i, walk.wrong);
            exit(1);
        }
        visited[i][offset] = 1;
    }
    if (signal == SIGTRAP)
        pull(ip);
    else
        siglongjmp(end_of_call, 1);
}

long hook(long x) { return x + 1; }

/*
 * Resumes at the handler of a tag, or one of every tag, of the call that made the caller's frame, with two payloads. The
 * callee's convention preserves no register for a handler. Returns if the payload is the tag, so that what follows is come by.
 */
void resume(long tag, long payload) {
    if (payload == tag)
        return;
    uintptr_t *throws = *(uintptr_t **)__builtin_frame_address(0), frame = throws[0];
    /* Without the signature of AArch64. */
    uintptr_t from = throws[1] & 0xffffffffffff;
    const uint32_t *function = __start_kingpost_handlers + 4;
    const uint32_t *handlers = function + 6 * __start_kingpost_handlers[1];
    for (uint32_t i = 0; i < __start_kingpost_handlers[1]; i++, function += 6) {
        uintptr_t start = (uintptr_t)function + (intptr_t)(int32_t)function[0];
        const uint32_t *handler = handlers + 6 * function[2], *end = handler + 6 * function[3];
        for (; handler < end; handler += 6)
            if (start + handler[0] == from && (handler[2] || handler[3] == tag))
                RESUME(frame, frame - function[4], start + handler[1], payload, tag);
    }
    exit(2);
}

long leaf(long), saves(long), returns(long), cold(long), pops(long), tails(long), big(long), recurse(long),
    catches(long), pages(long), traps(long), traps_bare(long), divides(long), limits(long), limits_saves(long),
    limits_grow(long);

int main(int argc, char **argv) {
    (void)argv;
    has_frame_pointers = argc > 1;
    static long (*const functions[])(long) = {leaf,  saves,   returns, cold,       pops, catches, pages,
                                              big,   recurse, traps,   traps_bare, divides, limits, tails,
                                              limits_saves, limits_grow};
    for (uint32_t i = 0; i < __start_kingpost_traps[1]; i++)
        visited[i] = calloc(__start_kingpost_traps[4 + 6 * i + 1], 1);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = stop;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, NULL);
    sigaction(SIGILL, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    plant();
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)
        for (long x = -1; x < 7; x++)
            if (!sigsetjmp(end_of_call, 1))
                enter_function(functions[i], x);
    for (uint32_t i = 0; i < __start_kingpost_traps[1]; i++) {
        for (uint32_t offset = 0; offset < __start_kingpost_traps[4 + 6 * i + 1]; offset++)
            if (visited[i][offset])
                printf("%u ", offset);
        printf("\n");
    }
    return 0;
}
