// An interpreter of bytecode: a stack machine with locals, which counts primes and Collatz steps.
// tested: 1 => 4899493759750488728
// measured: 40 => 6909519207978186052
#include "kernel.h"
#define PUSH 0
#define LOAD 1
#define STORE 2
#define ADD 3
#define SUB 4
#define MUL 5
#define REM 6
#define HALF 7
#define LESS 8
#define EQUAL 9
#define JUMP 10
#define JUMP_IF 11
#define ODD 12
#define DUP 13
#define HALT 14

static i64 run(u8 *code, i64 argument) {
    i64 stack[32];
    i64 locals[8];
    for (u32 i = 0; i < 8; i++) {
        locals[i] = 0;
    }
    locals[0] = argument;
    u32 top = 0;
    u32 at = 0;
    while (1) {
        u8 operation = code[at];
        u8 operand = code[at + 1];
        at += 2;
        switch (operation) {
        case PUSH:
            stack[top] = (i64)operand;
            top++;
            break;
        case LOAD:
            stack[top] = locals[operand];
            top++;
            break;
        case STORE:
            top--;
            locals[operand] = stack[top];
            break;
        case ADD:
            top--;
            stack[top - 1] = stack[top - 1] + stack[top];
            break;
        case SUB:
            top--;
            stack[top - 1] = stack[top - 1] - stack[top];
            break;
        case MUL:
            top--;
            stack[top - 1] = stack[top - 1] * stack[top];
            break;
        case REM:
            top--;
            if (stack[top] == 0) {
                return -1;
            }
            stack[top - 1] = (i64)((u64)stack[top - 1] % (u64)stack[top]);
            break;
        case HALF:
            stack[top - 1] = stack[top - 1] >> 1;
            break;
        case LESS:
            top--;
            stack[top - 1] = stack[top - 1] < stack[top] ? (i64)1 : (i64)0;
            break;
        case EQUAL:
            top--;
            stack[top - 1] = stack[top - 1] == stack[top] ? (i64)1 : (i64)0;
            break;
        case JUMP:
            at = operand;
            break;
        case JUMP_IF:
            top--;
            if (stack[top] != 0) {
                at = operand;
            }
            break;
        case ODD:
            stack[top - 1] = stack[top - 1] & 1;
            break;
        case DUP:
            stack[top] = stack[top - 1];
            top++;
            break;
        default:
            return locals[operand];
        }
    }
    return 0;
}

u64 bytecode(u64 n) {
    // Counts the primes up to local 0 in local 3. Local 1 is the candidate, local 2 the divisor.
    u8 primes[70] = {PUSH, 2, STORE, 1,
        LOAD, 0, LOAD, 1, LESS, 0, JUMP_IF, 68, PUSH, 2, STORE, 2,
        LOAD, 1, LOAD, 2, DUP, 0, MUL, 0, LESS, 0, JUMP_IF, 50,
        LOAD, 1, LOAD, 2, REM, 0, PUSH, 0, EQUAL, 0, JUMP_IF, 58,
        LOAD, 2, PUSH, 1, ADD, 0, STORE, 2, JUMP, 16,
        LOAD, 3, PUSH, 1, ADD, 0, STORE, 3,
        LOAD, 1, PUSH, 1, ADD, 0, STORE, 1, JUMP, 4,
        HALT, 3};
    // Counts the Collatz steps of local 0 in local 1.
    u8 collatz[46] = {LOAD, 0, PUSH, 1, EQUAL, 0, JUMP_IF, 44,
        LOAD, 1, PUSH, 1, ADD, 0, STORE, 1, LOAD, 0, ODD, 0, JUMP_IF, 30,
        LOAD, 0, HALF, 0, STORE, 0, JUMP, 0,
        LOAD, 0, PUSH, 3, MUL, 0, PUSH, 1, ADD, 0, STORE, 0, JUMP, 0,
        HALT, 1};
    u64 sum = 0;
    for (u64 round = 0; round < n; round++) {
        sum = sum * 31 + (u64)run(primes, (i64)(300 + round));
        for (i64 start = 1; start < 60; start++) {
            sum = sum * 31 + (u64)run(collatz, start);
        }
    }
    return sum;
}
