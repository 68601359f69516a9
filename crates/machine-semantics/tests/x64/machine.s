# Loads the state of the processor, runs an instruction, and stores the state. The forms follow.

.intel_syntax noprefix
.bss
.balign 16
.globl machine_state, machine_exit
machine_state: .skip 16*8 + 8 + 16*16 + 64 + 8
machine_exit: .skip 8
saved_stack: .skip 8
target: .skip 8

.set GENERAL, 0
.set FLAGS, 16*8
.set VECTOR, 16*8 + 8

.text
.globl machine_run
machine_run:
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    mov [saved_stack + rip], rsp
    mov [target + rip], rdi
    push qword ptr [machine_state + FLAGS + rip]
    popfq
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movups xmm\n, [machine_state + VECTOR + 16*\n + rip]
    .endr
    mov rax, [machine_state + 8*0 + rip]
    mov rcx, [machine_state + 8*1 + rip]
    mov rdx, [machine_state + 8*2 + rip]
    mov rbx, [machine_state + 8*3 + rip]
    mov rsp, [machine_state + 8*4 + rip]
    mov rbp, [machine_state + 8*5 + rip]
    mov rsi, [machine_state + 8*6 + rip]
    mov rdi, [machine_state + 8*7 + rip]
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    mov r\n, [machine_state + 8*\n + rip]
    .endr
    jmp [target + rip]

machine_taken:
    mov qword ptr [machine_exit + rip], 1
machine_done:
    mov [machine_state + 8*0 + rip], rax
    mov [machine_state + 8*1 + rip], rcx
    mov [machine_state + 8*2 + rip], rdx
    mov [machine_state + 8*3 + rip], rbx
    mov [machine_state + 8*4 + rip], rsp
    mov [machine_state + 8*5 + rip], rbp
    mov [machine_state + 8*6 + rip], rsi
    mov [machine_state + 8*7 + rip], rdi
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    mov [machine_state + 8*\n + rip], r\n
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movups [machine_state + VECTOR + 16*\n + rip], xmm\n
    .endr
    mov rsp, [saved_stack + rip]
    pushfq
    pop qword ptr [machine_state + FLAGS + rip]
    cld
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret


.section .data.forms, "aw"
.globl forms
forms:
