// What the runtime library of Windows on AArch64 defines in a program or library.
    .text
    .globl DllMainCRTStartup
DllMainCRTStartup:
    mov w0, #1
    ret

// Touches the pages of a frame: x15 is its size in units of 16 bytes.
    .globl __chkstk
__chkstk:
    lsl x16, x15, #4
    mov x17, sp
1:  sub x17, x17, #4096
    subs x16, x16, #4096
    ldr xzr, [x17]
    b.gt 1b
    mov x17, #0
    ret

    .data
    .p2align 3
    .globl from_c
from_c:
    .xword 10, 20, 30
    .globl _tls_index
_tls_index:
    .word 0

// The initial values of a thread's variables, between these symbols.
    .section .tls, "dw"
tls_start:
    .xword 0
    .section .tls$ZZZ, "dw"
tls_end:
    .section .rdata, "dr"
    .p2align 3
    .globl _tls_used
_tls_used:
    .xword tls_start, tls_end, _tls_index, 0
    .word 0, 0
