# The assembly side of the calls. Functions `check_*` call compiled functions and check the registers of their results;
# compiled functions call the functions `asm_*`. A check returns 0 in rax, or the number of the first wrong result.

        .intel_syntax noprefix
        .text

# LLVM's extension of the convention returns a third integer result in rcx.

# Compares an integer register with a constant. r11 holds no result in any convention.
        .macro int number, register, value
        mov ebx, \number
        movabs r11, \value
        cmp \register, r11
        jne 9f
        .endm

# Compares a float register with the bits of a double.
        .macro float number, register, bits
        mov ebx, \number
        movabs r11, \bits
        movq r12, \register
        cmp r12, r11
        jne 9f
        .endm

        .macro begin name
        .globl \name
\name:  push rbx
        push rbp
        push r12
        mov rbp, rsp
        and rsp, -16
        .endm

# Ends a check: returns 0, or the number in ebx if a comparison failed, and restores the stack pointer from rbp.
        .macro end
        xor ebx, ebx
9:      mov eax, ebx
        mov rsp, rbp
        pop r12
        pop rbp
        pop rbx
        ret
        .endm

        begin check_system_v
        call gives_system_v
        int 1, rax, 1
        float 2, xmm0, 0x4000000000000000
        mov edx, edx
        int 3, rdx, 3
        movd eax, xmm1
        int 4, rax, 0x40800000
        end

        begin check_in_memory
        sub rsp, 48
        lea rdi, [rsp]
        movabs rsi, 0x1122334455667706
        call gives_in_memory
        int 1, rax, 1
        int 2, rdx, 2
        int 3, rcx, 3
        float 4, xmm0, 0x4010000000000000
        float 5, xmm1, 0x4014000000000000
        movzx eax, byte ptr [rsp]
        int 6, rax, 6
        mov rax, [rsp + 8]
        int 7, rax, 0x401c000000000000
        end

        begin check_extended
        movabs rdi, 0x11111111111111fd
        movabs rsi, 0x222222222222fffe
        call gives_extended
        mov eax, eax
        int 1, rax, 0xfffffffd
        mov edx, edx
        int 2, rdx, 0xfffe
        end

        begin check_i128
        call gives_i128
        int 1, rax, 1
        int 2, rdx, 2
        end

# The address of the result area is the first argument, so two arguments are on the stack. The callee pops them.
        begin check_tail
        sub rsp, 32
        lea rdi, [rsp]
        mov esi, 1
        mov edx, 2
        mov ecx, 3
        mov r8d, 4
        mov r9d, 5
        push 7
        push 6
        call gives_tail
        int 1, rax, 1
        int 2, rcx, 2
        int 3, rdx, 3
        int 4, rsi, 4
        int 5, rdi, 5
        int 6, r8, 6
        int 7, r9, 7
        int 8, r10, 8
        mov rax, [rsp]
        int 9, rax, 9
        float 10, xmm0, 0x4024000000000000
        float 11, xmm1, 0x4026000000000000
        float 12, xmm2, 0x4028000000000000
        float 13, xmm3, 0x402a000000000000
        float 14, xmm4, 0x402c000000000000
        float 15, xmm5, 0x402e000000000000
        float 16, xmm6, 0x4030000000000000
        float 17, xmm7, 0x4031000000000000
        mov rax, [rsp + 8]
        int 18, rax, 0x4032000000000000
        end

# Sets all registers except the argument's to known values, and compares them after the call.
        begin check_preserved
        push r13
        push r14
        push r15
        sub rsp, 24
        movabs rdi, offset cell
        mov qword ptr [rdi], 21
        movabs r11, 0x0102030405060708
        .irp register, rax, rbx, rcx, rdx, rsi, r8, r9, r10, r12, r13, r14, r15
        lea \register, [r11 + 16]
        mov r11, \register
        .endr
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        add r11, 16
        movq xmm\n, r11
        punpcklqdq xmm\n, xmm\n
        .endr
        mov [rsp], rbp
        call preserves
        movabs r11, 0x0102030405060708
        .irp register, rax, rbx, rcx, rdx, rsi, r8, r9, r10, r12, r13, r14, r15
        add r11, 16
        cmp \register, r11
        jne 1f
        .endr
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        add r11, 16
        movq rax, xmm\n
        cmp rax, r11
        jne 1f
        movhlps xmm\n, xmm\n
        movq rax, xmm\n
        cmp rax, r11
        jne 1f
        .endr
        cmp rbp, [rsp]
        jne 1f
        cmp qword ptr cell[rip], 42
        jne 1f
        xor ebx, ebx
        jmp 2f
1:      mov ebx, 1
2:      mov eax, ebx
        add rsp, 24
        pop r15
        pop r14
        pop r13
        mov rsp, rbp
        pop r12
        pop rbp
        pop rbx
        ret

# Overwrites every register that the convention does not preserve.
        .globl destroys
destroys:
        .irp register, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11
        movabs \register, 0xdeaddeaddeaddead
        .endr
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        pcmpeqd xmm\n, xmm\n
        .endr
        ret

# Records the size in eax for `check_probed`. The pages are mapped, so none is touched. The registers that a probe may
# clobber are overwritten.
        .globl __kingpost_probestack
__kingpost_probestack:
        mov probed[rip], rax
        movabs rax, 0xdeaddeaddeaddead
        mov r11, rax
        ret

        .globl check_probed
check_probed:
        mov rax, probed[rip]
        cmp rax, 20000
        setb al
        movzx eax, al
        ret

# The functions below return results to compiled code. The bits above a narrow result are garbage unless the signature
# defines them.
        .macro double register, bits
        movabs r11, \bits
        movq \register, r11
        .endm

        .globl asm_system_v
asm_system_v:
        mov eax, 1
        double xmm0, 0x4000000000000000
        movabs rdx, 0x7777777700000003
        double xmm1, 0x7777777740800000
        ret

        .globl asm_in_memory
asm_in_memory:
        mov [rdi], sil
        mov eax, 1
        mov edx, 2
        mov ecx, 3
        double xmm0, 0x4010000000000000
        double xmm1, 0x4014000000000000
        movabs rsi, 0x401c000000000000
        mov [rdi + 8], rsi
        ret

        .globl asm_extended
asm_extended:
        mov eax, 0xfffffffd
        mov edx, 0xfffe
        ret

        .globl asm_i128
asm_i128:
        mov eax, 1
        mov edx, 2
        ret

# The arguments are 1 to 7. The first result is computed from the two on the stack, which checks that they arrive.
        .globl asm_tail
asm_tail:
        mov rax, [rsp + 16]
        sub rax, [rsp + 8]
        mov qword ptr [rdi], 9
        movabs r11, 0x4032000000000000
        mov [rdi + 8], r11
        mov rcx, rdx
        mov edx, 3
        mov esi, 4
        mov edi, 5
        mov r8d, 6
        mov r9d, 7
        mov r10d, 8
        double xmm0, 0x4024000000000000
        double xmm1, 0x4026000000000000
        double xmm2, 0x4028000000000000
        double xmm3, 0x402a000000000000
        double xmm4, 0x402c000000000000
        double xmm5, 0x402e000000000000
        double xmm6, 0x4030000000000000
        double xmm7, 0x4031000000000000
        ret 16

        .data
        .balign 8
cell:   .quad 0
probed: .quad 0

        .section .note.GNU-stack,"",@progbits
