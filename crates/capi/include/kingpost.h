/* kingpost.h: the C interface of the compiler back end Kingpost.
 *
 * This file is generated from the sources in crates/capi: do not edit it.
 *
 * Handles: an object is referred to by a handle, a number in a structure. A handle whose bits are all zero is null. A
 * null handle, or one of an object that was freed, is an error of the call and never undefined behavior.
 *
 * Errors: a function that can fail returns KP_OK or another kp_status, and stores status and message in `error`, which
 * may be null. Results are stored only after success. A panic of the library does not leave it: it is KP_ERROR_BUG.
 *
 * Memory: a pointer is null, or it points to what the parameter's name and comment say, for the time of the call. The
 * library keeps no pointer to texts, arrays and results of the caller. A place for a result may be null if the result
 * is not wanted, unless the result is an object to be freed. Texts are UTF-8.
 *
 * Threads: every function may be called in every thread. A call that uses an object while another call uses it fails
 * with KP_ERROR_BUSY and changes nothing. Different objects are independent.
 */
#ifndef KINGPOST_H
#define KINGPOST_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header: major times 10000, minor times 100, and patch. */
#define KINGPOST_VERSION 100
#define KINGPOST_VERSION_STRING "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* Target, settings and allocator of modules. */
typedef struct kp_config { uint64_t bits; } kp_config;

/* Bytes or text of the library. */
typedef struct kp_buffer { uint64_t bits; } kp_buffer;

/* Functions and data that become code in memory or an object. */
typedef struct kp_module { uint64_t bits; } kp_module;

/* A function that is being built. */
typedef struct kp_builder { uint64_t bits; } kp_builder;

/* A function of a module; valid as long as the module. */
typedef struct kp_function { uint64_t bits; } kp_function;

/* A data object of a module; valid as long as the module. */
typedef struct kp_data { uint64_t bits; } kp_data;

/* A value of a function that is built; valid as long as its builder, as are the next ones. */
typedef struct kp_value { uint64_t bits; } kp_value;

/* A block: instructions that are executed one after the other. */
typedef struct kp_block { uint64_t bits; } kp_block;

/* A variable, which may be assigned many times. */
typedef struct kp_variable { uint64_t bits; } kp_variable;

/* Bytes in the frame of a function. */
typedef struct kp_slot { uint64_t bits; } kp_slot;

/* A function that can be called. */
typedef struct kp_callee { uint64_t bits; } kp_callee;

/* A signature of calls through addresses. */
typedef struct kp_signature { uint64_t bits; } kp_signature;

/* Result of a function that can fail. */
typedef int32_t kp_status;

enum {
    /* No error. */
    KP_OK = 0,
    /* An argument is a null pointer, is not UTF-8, or is out of its range. */
    KP_ERROR_ARGUMENT = 1,
    /* A handle is null, is of another kind, or its object was freed. */
    KP_ERROR_HANDLE = 2,
    /* The object is in use by another call: in another thread, or around a callback. */
    KP_ERROR_BUSY = 3,
    /* No setting, target, allocator, function or symbol has this name, or it does not accept this value. */
    KP_ERROR_NAME = 4,
    /* A text does not follow its grammar. The error has line and column. */
    KP_ERROR_TEXT = 5,
    /* A function breaks a rule of the intermediate representation, or is built in a wrong way. */
    KP_ERROR_INVALID = 6,
    /* The target or this version does not support something in the function. */
    KP_ERROR_UNSUPPORTED = 7,
    /* A declaration or definition contradicts an earlier one. */
    KP_ERROR_MODULE = 8,
    /* A module cannot be loaded or become an object; for instance, a symbol is undefined. */
    KP_ERROR_LINK = 9,
    /* The register allocator gave up, or the checker rejected its allocation. */
    KP_ERROR_ALLOCATION = 10,
    /* A limit is exceeded. */
    KP_ERROR_LIMIT = 11,
    /* The system refused a file or memory. */
    KP_ERROR_SYSTEM = 12,
    /* A bug of this library. The object of the call is unusable. */
    KP_ERROR_BUG = 13,
    /* The setting `validate_code` is on, and the emitted code of a function is refuted or not proved. */
    KP_ERROR_UNPROVED = 14
};

/* Linkage: place where a name is defined, and its visibility. */
enum {
    /* Defined elsewhere. */
    KP_IMPORT = 0,
    /* Defined here, visible only here. */
    KP_LOCAL = 1,
    /* Defined here, visible in everything that is linked statically. */
    KP_HIDDEN = 2,
    /* Defined here, visible everywhere, may be overridden when linked. */
    KP_PREEMPTIBLE = 3,
    /* Defined here, visible everywhere. */
    KP_EXPORT = 4,
    /* Defined here and equally in other objects, visible everywhere; linkers keep one definition and discard the
     * others.
     */
    KP_LINK_ONCE = 5
};

/* Use of a data object. */
enum {
    /* Contents that never change. */
    KP_DATA_READ_ONLY = 0,
    /* Contents that the program may change. */
    KP_DATA_WRITABLE = 1,
    /* A copy for each thread, which the thread may change. */
    KP_DATA_THREAD_LOCAL = 2
};

/* Types: integers, floats and vectors. A vector of 2^N lanes is its lane type plus 16 times N. */
enum {
    /* The opcode and the operands determine the type. */
    KP_INFER = 0,
    KP_I8 = 1,
    KP_I16 = 2,
    KP_I32 = 3,
    KP_I64 = 4,
    KP_I128 = 5,
    KP_F16 = 6,
    KP_F32 = 7,
    KP_F64 = 8,
    KP_F128 = 9,
    KP_I8X8 = 49,
    KP_I8X16 = 65,
    KP_I16X4 = 34,
    KP_I16X8 = 50,
    KP_I32X2 = 19,
    KP_I32X4 = 35,
    KP_I64X2 = 20,
    KP_F32X4 = 39,
    KP_F64X2 = 24
};

/* Opcodes, with their meaning. `p` is an address; `x`, `y` and `c` are operands. */
enum {
    /* Go to the block, passing the arguments. */
    KP_OP_JUMP = 0,
    /* Go to the first block if `c` is not zero (any width up to i128), otherwise to the second. */
    KP_OP_BRIF = 1,
    /* `x` is an unsigned index into the bracketed list; the block before the list is the default for an index past
     * the end.
     */
    KP_OP_BR_TABLE = 2,
    /* Return the values; number and types must match the function's results. Without values nothing follows the
     * opcode.
     */
    KP_OP_RETURN = 3,
    /* Stop with this trap code. Ends the block. */
    KP_OP_TRAP = 4,
    /* Trap if `c` is zero, otherwise go on. */
    KP_OP_TRAPZ = 5,
    /* Trap if `c` is not zero, otherwise go on. */
    KP_OP_TRAPNZ = 6,
    /* Breakpoint instruction; execution can continue after it. Must not be moved or removed. */
    KP_OP_DEBUGTRAP = 7,
    /* Call a declared function. The results have the types of its signature; the number of result names must match. */
    KP_OP_CALL = 8,
    /* Call the code at address `callee` with this signature. */
    KP_OP_CALL_INDIRECT = 9,
    /* Tail call: replaces the current frame. Caller and callee must have the same convention, it must be `tail`, and
     * the result types must be the caller's. Ends the block.
     */
    KP_OP_RETURN_CALL = 10,
    /* Tail call through an address; same rules as `return_call`. */
    KP_OP_RETURN_CALL_INDIRECT = 11,
    /* Call that ends the block. On normal return go to the table's normal block, where `retN` is result N; if an
     * exception with a listed tag (or `default`) arrives, go to that block, where `exnN` is payload N. With no match
     * the exception propagates to the caller's caller. Defines no results itself. The signature in the table must
     * equal the one of the function.
     */
    KP_OP_TRY_CALL = 12,
    /* As `try_call` with an address; the signature is the one in the exception table. */
    KP_OP_TRY_CALL_INDIRECT = 13,
    /* Address of a declared function, usable as a `callee`. */
    KP_OP_FUNC_ADDR = 14,
    /* Code address of exceptional edge number `index` (0 is the first handler) of the `try_call` that ends the given
     * block.
     */
    KP_OP_GET_EXCEPTION_HANDLER_ADDRESS = 15,
    /* Save the current stack's context at `store_context_ptr`, load the one at `load_context_ptr`, go on there.
     * `in_payload0` becomes the result on the other stack. All loads happen before the stores, so both pointers may
     * be equal. Experimental, one target only, needs `stack_switch_model`. Contexts are used once.
     */
    KP_OP_STACK_SWITCH = 16,
    /* Emits no code; no side effect may move across it. It can carry debug tags. */
    KP_OP_SEQUENCE_POINT = 17,
    /* Does nothing; compiles to no code. */
    KP_OP_NOP = 18,
    /* Load a value of the suffix type from `p + offset`. */
    KP_OP_LOAD = 19,
    /* Store `x` at `p + offset`. The suffix, if written, is the type of `x`. */
    KP_OP_STORE = 20,
    /* Load 8 bits and zero-extend to the result type. */
    KP_OP_ULOAD8 = 21,
    /* Load 8 bits and sign-extend to the result type. */
    KP_OP_SLOAD8 = 22,
    /* Store the low 8 bits of `x`. */
    KP_OP_ISTORE8 = 23,
    /* Load 16 bits and zero-extend to the result type. */
    KP_OP_ULOAD16 = 24,
    /* Load 16 bits and sign-extend to the result type. */
    KP_OP_SLOAD16 = 25,
    /* Store the low 16 bits of `x`. */
    KP_OP_ISTORE16 = 26,
    /* Load 32 bits and zero-extend to the result type. The result is always i64; an optional suffix is the type of
     * `p`.
     */
    KP_OP_ULOAD32 = 27,
    /* Load 32 bits and sign-extend to the result type. The result is always i64; an optional suffix is the type of
     * `p`.
     */
    KP_OP_SLOAD32 = 28,
    /* Store the low 32 bits of `x`. */
    KP_OP_ISTORE32 = 29,
    /* Load 64 bits as 8 lanes and zero-extend each; the result is i16x8. An optional suffix is the type of `p`. */
    KP_OP_ULOAD8X8 = 30,
    /* Load 64 bits as 8 lanes and sign-extend each; the result is i16x8. An optional suffix is the type of `p`. */
    KP_OP_SLOAD8X8 = 31,
    /* Load 64 bits as 4 lanes and zero-extend each; the result is i32x4. An optional suffix is the type of `p`. */
    KP_OP_ULOAD16X4 = 32,
    /* Load 64 bits as 4 lanes and sign-extend each; the result is i32x4. An optional suffix is the type of `p`. */
    KP_OP_SLOAD16X4 = 33,
    /* Load 64 bits as 2 lanes and zero-extend each; the result is i64x2. An optional suffix is the type of `p`. */
    KP_OP_ULOAD32X2 = 34,
    /* Load 64 bits as 2 lanes and sign-extend each; the result is i64x2. An optional suffix is the type of `p`. */
    KP_OP_SLOAD32X2 = 35,
    /* Address of byte `offset` of a stack slot; the offset must be at least 0 and less than the slot's size. */
    KP_OP_STACK_ADDR = 36,
    /* Address of the first byte of a dynamic stack slot. */
    KP_OP_DYNAMIC_STACK_ADDR = 37,
    /* Value of a global value; the suffix must be the global value's type. */
    KP_OP_SYMBOL_VALUE = 38,
    /* As `symbol_value` for a symbol declared `tls`; the access follows the setting `tls_model`. */
    KP_OP_TLS_VALUE = 39,
    /* One sequentially consistent step: read the old value at `p`, write `op(old, x)`, return the old value. Wraps;
     * `xchg` writes `x`; `nand` writes `not (old and x)`; the `min`/`max` kinds pick by the named signedness.
     */
    KP_OP_ATOMIC_RMW = 40,
    /* Sequentially consistent: read the value at `p`; if it equals `e`, write `x`. Returns the old value in both
     * cases.
     */
    KP_OP_ATOMIC_CAS = 41,
    /* Sequentially consistent load of an integer. */
    KP_OP_ATOMIC_LOAD = 42,
    /* Sequentially consistent store of an integer. */
    KP_OP_ATOMIC_STORE = 43,
    /* Sequentially consistent fence: no load or store crosses it. */
    KP_OP_FENCE = 44,
    /* Read the pinned register (r15 on x86_64, x21 on aarch64). Needs the setting `enable_pinned_reg`. */
    KP_OP_GET_PINNED_REG = 45,
    /* Write the pinned register. Needs the setting `enable_pinned_reg`. */
    KP_OP_SET_PINNED_REG = 46,
    /* Frame pointer of this frame. Needs the setting `preserve_frame_pointers`. */
    KP_OP_GET_FRAME_POINTER = 47,
    /* Current stack pointer. */
    KP_OP_GET_STACK_POINTER = 48,
    /* Address to which this function will return. Needs the setting `preserve_frame_pointers`. */
    KP_OP_GET_RETURN_ADDRESS = 49,
    /* Integer constant of the suffix type, i8 to i64 only; there is no i128 constant (use `iconcat` or an
     * extension). Both signed and unsigned spellings in the width are accepted and are stored as the low bits.
     */
    KP_OP_ICONST = 50,
    /* f16 constant. */
    KP_OP_F16CONST = 51,
    /* f32 constant. */
    KP_OP_F32CONST = 52,
    /* f64 constant. */
    KP_OP_F64CONST = 53,
    /* f128 constant: a float literal or `constN` of 16 bytes. */
    KP_OP_F128CONST = 54,
    /* Vector constant: `constN`, a hexadecimal literal or a bracketed lane list. Its size must be the size of the
     * type.
     */
    KP_OP_VCONST = 55,
    /* `x` if `c` is not zero, otherwise `y`. `c` is a scalar also where `x` and `y` are vectors. */
    KP_OP_SELECT = 56,
    /* Same value as `select`, but the code must not branch on `c` or speculate about it (conditional move). */
    KP_OP_SELECT_SPECTRE_GUARD = 57,
    /* Bit by bit: the bit of `x` where `c` has a one, otherwise the bit of `y`. All three have one type; floats are
     * taken as bits.
     */
    KP_OP_BITSELECT = 58,
    /* Lane by lane: `x` where the top bit of the lane in `c` is set, otherwise `y`. */
    KP_OP_BLENDV = 59,
    /* All ones of the result type if `x` is not zero, otherwise 0. The two widths are independent. */
    KP_OP_BMASK = 60,
    /* 1 if any lane is not all zero bits, otherwise 0. */
    KP_OP_VANY_TRUE = 61,
    /* 1 if no lane is all zero bits, otherwise 0. */
    KP_OP_VALL_TRUE = 62,
    /* Integer whose bit i is the top bit of lane i; the other bits are 0. The suffix is the result type. Float lanes
     * are taken as bits.
     */
    KP_OP_VHIGH_BITS = 63,
    /* Compare as the code says. Scalars give i8 1 or 0; vectors give a vector of integers with all-ones or zero
     * lanes.
     */
    KP_OP_ICMP = 64,
    /* Sum, wrapping. */
    KP_OP_IADD = 65,
    /* Difference, wrapping. */
    KP_OP_ISUB = 66,
    /* Two's complement negation; the minimum stays as it is. */
    KP_OP_INEG = 67,
    /* Signed absolute value; the minimum stays as it is. */
    KP_OP_IABS = 68,
    /* Low half of the product, wrapping. */
    KP_OP_IMUL = 69,
    /* High half of the double-width unsigned product. */
    KP_OP_UMULHI = 70,
    /* High half of the double-width signed product. */
    KP_OP_SMULHI = 71,
    /* Smaller of the two, lane by lane, signed. */
    KP_OP_SMIN = 72,
    /* Larger of the two, lane by lane, signed. */
    KP_OP_SMAX = 73,
    /* Smaller of the two, lane by lane, unsigned. */
    KP_OP_UMIN = 74,
    /* Larger of the two, lane by lane, unsigned. */
    KP_OP_UMAX = 75,
    /* Unsigned quotient. Traps `int_divz` if `y` is 0. */
    KP_OP_UDIV = 76,
    /* Signed quotient, rounded to zero. Traps `int_divz` if `y` is 0 and `int_ovf` for minimum / -1. */
    KP_OP_SDIV = 77,
    /* Unsigned remainder. Traps `int_divz` if `y` is 0. */
    KP_OP_UREM = 78,
    /* Signed remainder with the sign of `x`. Traps `int_divz` if `y` is 0. Minimum % -1 is 0 . */
    KP_OP_SREM = 79,
    /* Wrapped sum, and 1 if the unsigned sum did not fit. */
    KP_OP_UADD_OVERFLOW = 80,
    /* Wrapped sum, and 1 if the signed sum did not fit. */
    KP_OP_SADD_OVERFLOW = 81,
    /* Wrapped difference, and 1 if `x` is below `y` unsigned. */
    KP_OP_USUB_OVERFLOW = 82,
    /* Wrapped difference, and 1 if the signed difference did not fit. */
    KP_OP_SSUB_OVERFLOW = 83,
    /* Wrapped product, and 1 if the unsigned product did not fit. Not for i128. */
    KP_OP_UMUL_OVERFLOW = 84,
    /* Wrapped product, and 1 if the signed product did not fit. Not for i128. */
    KP_OP_SMUL_OVERFLOW = 85,
    /* As `uadd_overflow` of `x + y + (c_in != 0)`, taken as one sum of three terms. */
    KP_OP_UADD_OVERFLOW_CIN = 86,
    /* As `sadd_overflow` of `x + y + (c_in != 0)`. The two steps' overflow flags are or-ed. */
    KP_OP_SADD_OVERFLOW_CIN = 87,
    /* As `usub_overflow` of `x - (y + (b_in != 0))`. */
    KP_OP_USUB_OVERFLOW_BIN = 88,
    /* As `ssub_overflow` of `x - (y + (b_in != 0))`. The two steps' overflow flags are or-ed. */
    KP_OP_SSUB_OVERFLOW_BIN = 89,
    /* Unsigned sum; traps with the given code if it does not fit. i32 and i64 only. */
    KP_OP_UADD_OVERFLOW_TRAP = 90,
    /* And. Floats and vectors are taken as bits. */
    KP_OP_BAND = 91,
    /* Or. */
    KP_OP_BOR = 92,
    /* Exclusive or. */
    KP_OP_BXOR = 93,
    /* Every bit inverted. */
    KP_OP_BNOT = 94,
    /* Rotate each lane left; the amount counts modulo the lane width. */
    KP_OP_ROTL = 95,
    /* Rotate each lane right; the amount counts modulo the lane width. */
    KP_OP_ROTR = 96,
    /* Shift left, zeros come in. The amount is a scalar of any integer type, the same for all lanes, and counts
     * modulo the lane width.
     */
    KP_OP_ISHL = 97,
    /* Shift right, zeros come in; amount as in `ishl`. */
    KP_OP_USHR = 98,
    /* Shift right, copies of the sign bit come in; amount as in `ishl`. */
    KP_OP_SSHR = 99,
    /* Order of the bits reversed. */
    KP_OP_BITREV = 100,
    /* Number of zero bits above the highest one; the width for 0. */
    KP_OP_CLZ = 101,
    /* Number of bits below the sign bit that are equal to it, counted from the top; width - 1 for 0 and -1. */
    KP_OP_CLS = 102,
    /* Number of zero bits below the lowest one; the width for 0. */
    KP_OP_CTZ = 103,
    /* Order of the bytes reversed. */
    KP_OP_BSWAP = 104,
    /* Number of one bits, in each lane. */
    KP_OP_POPCNT = 105,
    /* Keep the low bits. The suffix is the result type; the operand must be strictly wider. */
    KP_OP_IREDUCE = 106,
    /* Zero-extend to the suffix type. The operand must be strictly narrower. */
    KP_OP_UEXTEND = 107,
    /* Sign-extend to the suffix type. The operand must be strictly narrower. */
    KP_OP_SEXTEND = 108,
    /* Low half and high half of `x`. */
    KP_OP_ISPLIT = 109,
    /* `hi` in the high half, `lo` in the low half of the double-width result. */
    KP_OP_ICONCAT = 110,
    /* The same bits as another type of the same total size. If the lane counts differ, `little` or `big` must be
     * given: the result is what storing and loading in that byte order would give.
     */
    KP_OP_BITCAST = 111,
    /* Compare as the code says; result as in `icmp`. -0.0 equals 0.0. */
    KP_OP_FCMP = 112,
    /* Sum, rounded to nearest, ties to even. */
    KP_OP_FADD = 113,
    /* Difference, rounded to nearest, ties to even. */
    KP_OP_FSUB = 114,
    /* Product, rounded to nearest, ties to even. */
    KP_OP_FMUL = 115,
    /* Quotient, rounded to nearest even; never traps (x/0 is an infinity, 0/0 a NaN). */
    KP_OP_FDIV = 116,
    /* Square root; NaN for a negative operand other than -0.0. */
    KP_OP_SQRT = 117,
    /* `x * y + z` with a single rounding. */
    KP_OP_FMA = 118,
    /* Sign bit inverted; nothing else changes, also for NaN. */
    KP_OP_FNEG = 119,
    /* Sign bit cleared; nothing else changes, also for NaN. */
    KP_OP_FABS = 120,
    /* `x` with the sign bit of `y`; pure bit operation. */
    KP_OP_FCOPYSIGN = 121,
    /* Smaller of the two; NaN if either is NaN; -0.0 is below 0.0. */
    KP_OP_FMIN = 122,
    /* Larger of the two; NaN if either is NaN; 0.0 is above -0.0. */
    KP_OP_FMAX = 123,
    /* Round to an integral value upwards; keeps the sign of zero. */
    KP_OP_CEIL = 124,
    /* Round to an integral value downwards; keeps the sign of zero. */
    KP_OP_FLOOR = 125,
    /* Round to an integral value towards zero; keeps the sign of zero. */
    KP_OP_TRUNC = 126,
    /* Round to the nearest integral value, ties to even; keeps the sign of zero. */
    KP_OP_NEAREST = 127,
    /* Exact conversion to the wider suffix type. */
    KP_OP_FPROMOTE = 128,
    /* Conversion to the narrower suffix type, nearest even. */
    KP_OP_FDEMOTE = 129,
    /* The two low f32 lanes as f64 lanes. */
    KP_OP_FVPROMOTE_LOW = 130,
    /* Each f64 lane to f32, nearest even, in the two low lanes; the two high lanes are 0. */
    KP_OP_FVDEMOTE = 131,
    /* Truncate to an unsigned integer. Traps `bad_toint` for NaN and `int_ovf` if the truncated value is out of
     * range, so -0.9 becomes 0.
     */
    KP_OP_FCVT_TO_UINT = 132,
    /* Truncate to a signed integer. Traps `bad_toint` for NaN and `int_ovf` if the truncated value is out of range. */
    KP_OP_FCVT_TO_SINT = 133,
    /* Truncate, clamp to the unsigned range; NaN becomes 0. Works lane by lane; lane counts must agree. */
    KP_OP_FCVT_TO_UINT_SAT = 134,
    /* Truncate, clamp to the signed range; NaN becomes 0. Works lane by lane; lane counts must agree. */
    KP_OP_FCVT_TO_SINT_SAT = 135,
    /* Unsigned integer to float, nearest even, lane by lane. */
    KP_OP_FCVT_FROM_UINT = 136,
    /* Signed integer to float, nearest even, lane by lane. */
    KP_OP_FCVT_FROM_SINT = 137,
    /* Truncate each lane to a signed integer; NaN and out of range give the minimum integer. */
    KP_OP_X86_CVTT2DQ = 138,
    /* All lanes are `x`. */
    KP_OP_SPLAT = 139,
    /* Lane 0 is `s`, all other lanes are 0. */
    KP_OP_SCALAR_TO_VECTOR = 140,
    /* `x` with lane number `Idx` replaced by `y`. The text order is vector, lane value, index. The index must exist. */
    KP_OP_INSERTLANE = 141,
    /* Lane number `Idx` of `x`; the index must exist. */
    KP_OP_EXTRACTLANE = 142,
    /* The 128-bit part number `y` of a dynamic vector. */
    KP_OP_EXTRACT_VECTOR = 143,
    /* Byte i of the result is picked by byte i of the mask: 0 to 15 from `a`, 16 to 31 from `b`. Other mask values
     * are a verifier error.
     */
    KP_OP_SHUFFLE = 144,
    /* Byte i is byte `y[i]` of `x`, or 0 if `y[i]` is above 15. */
    KP_OP_SWIZZLE = 145,
    /* Byte i is 0 if the top bit of `y[i]` is set, otherwise byte `y[i] mod 16` of `x`. */
    KP_OP_X86_PSHUFB = 146,
    /* Sum clamped to the unsigned range, lane by lane. */
    KP_OP_UADD_SAT = 147,
    /* Sum clamped to the signed range, lane by lane. */
    KP_OP_SADD_SAT = 148,
    /* Difference clamped to the unsigned range, so at least 0, lane by lane. */
    KP_OP_USUB_SAT = 149,
    /* Difference clamped to the signed range, lane by lane. */
    KP_OP_SSUB_SAT = 150,
    /* `(x + y + 1) / 2` unsigned, without losing the carry, lane by lane. */
    KP_OP_AVG_ROUND = 151,
    /* Wrapped sums of lanes 2i and 2i+1: first of `x`, then of `y`. */
    KP_OP_IADD_PAIRWISE = 152,
    /* With B-bit lanes: `(x * y + 2^(B-2)) >> (B-1)` in full width, clamped to the signed range. */
    KP_OP_SQMUL_ROUND_SAT = 153,
    /* As `sqmul_round_sat`, but minimum times minimum is the minimum instead of the maximum. */
    KP_OP_X86_PMULHRSW = 154,
    /* Signed bytes of `x` times unsigned bytes of `y`; neighboring products are added and clamped to the signed
     * 16-bit range.
     */
    KP_OP_X86_PMADDUBSW = 155,
    /* Lanes of `x` (low half) then `y` (high half), each clamped from signed to the signed half-width range. */
    KP_OP_SNARROW = 156,
    /* As `snarrow`, clamped from signed to the unsigned half-width range; negatives become 0. */
    KP_OP_UNARROW = 157,
    /* As `snarrow`, the lanes taken as unsigned and clamped to the unsigned half-width maximum. */
    KP_OP_UUNARROW = 158,
    /* The low half of the lanes, each sign-extended to double width. */
    KP_OP_SWIDEN_LOW = 159,
    /* The high half of the lanes, each sign-extended to double width. */
    KP_OP_SWIDEN_HIGH = 160,
    /* The low half of the lanes, each zero-extended to double width. */
    KP_OP_UWIDEN_LOW = 161,
    /* The high half of the lanes, each zero-extended to double width. */
    KP_OP_UWIDEN_HIGH = 162
};

/* Conditions of integer comparisons: equal, not equal, then signed and unsigned ones. */
enum {
    KP_INT_EQ = 0,
    KP_INT_NE = 1,
    KP_INT_SLT = 2,
    KP_INT_SGE = 3,
    KP_INT_SGT = 4,
    KP_INT_SLE = 5,
    KP_INT_ULT = 6,
    KP_INT_UGE = 7,
    KP_INT_UGT = 8,
    KP_INT_ULE = 9
};

/* Conditions of float comparisons. ORD: neither is a NaN; UNO: one is; U before another name: or one is a NaN. */
enum {
    KP_FLOAT_ORD = 0,
    KP_FLOAT_UNO = 1,
    KP_FLOAT_EQ = 2,
    KP_FLOAT_NE = 3,
    KP_FLOAT_ONE = 4,
    KP_FLOAT_UEQ = 5,
    KP_FLOAT_LT = 6,
    KP_FLOAT_UGE = 7,
    KP_FLOAT_LE = 8,
    KP_FLOAT_UGT = 9,
    KP_FLOAT_GT = 10,
    KP_FLOAT_ULE = 11,
    KP_FLOAT_GE = 12,
    KP_FLOAT_ULT = 13
};

/* Operations of kp_ins_atomic_rmw. */
enum {
    KP_RMW_ADD = 0,
    KP_RMW_SUB = 1,
    KP_RMW_AND = 2,
    KP_RMW_NAND = 3,
    KP_RMW_OR = 4,
    KP_RMW_XOR = 5,
    KP_RMW_XCHG = 6,
    KP_RMW_UMIN = 7,
    KP_RMW_UMAX = 8,
    KP_RMW_SMIN = 9,
    KP_RMW_SMAX = 10
};

/* Reasons of traps; 1 to 250 are reasons of the front end. */
enum {
    KP_TRAP_STK_OVF = 251,
    KP_TRAP_INT_OVF = 252,
    KP_TRAP_HEAP_OOB = 253,
    KP_TRAP_INT_DIVZ = 254,
    KP_TRAP_BAD_TOINT = 255
};

/* Flags of memory accesses. They may be combined with the reason of the trap of an access that faults, which is
 * KP_TRAP_HEAP_OOB otherwise.
 */
enum {
    /* The access cannot trap. */
    KP_MEM_NOTRAP = 256,
    /* The address is aligned. */
    KP_MEM_ALIGNED = 512,
    /* The memory does not change during the function. */
    KP_MEM_READONLY = 1024,
    /* The access may be moved as far as its data dependencies allow. */
    KP_MEM_CAN_MOVE = 2048,
    /* The least significant byte comes first. */
    KP_MEM_LITTLE = 4096,
    /* The most significant byte comes first. */
    KP_MEM_BIG = 8192
};

/* An error with its message. Memory of the caller; there is nothing to free. */
typedef struct kp_error {
    /* Kind of the error. */
    kp_status status;
    /* Line in the text, from 1; 0 if the error has no place in a text. */
    uint32_t line;
    /* Column in characters, from 1; 0 if the error has no place in a text. */
    uint32_t column;
    /* Bytes of the whole message. If they are 1000 or more, `message` is its beginning. */
    uint32_t length;
    /* The message in UTF-8. It ends in a zero byte. */
    char message[1000];
} kp_error;

/* ---- The version of the library ---- */

/* Returns the version of the library, in the form of `KINGPOST_VERSION`, which is the version of the header.
 * Before version 1, a program works with a library of the same minor version.
 */
uint32_t kp_version(void);

/* ---- Buffers: bytes and texts of the library, and texts that callbacks write ---- */

/* Stores address and length of the bytes of a buffer. A zero byte follows them, which the length does not count,
 * so that a text is a string of C.
 *
 * Ownership: the bytes belong to the buffer. The address is valid until the buffer is freed or appended to.
 */
kp_status kp_buffer_bytes(kp_buffer buffer, const char **bytes, size_t *length, kp_error *error);

/* Appends bytes to a buffer. An allocator of the caller writes its answer so. */
kp_status kp_buffer_append(kp_buffer buffer, const uint8_t *bytes, size_t length, kp_error *error);

/* Writes the bytes of a buffer to a file, which is created or replaced. */
kp_status kp_buffer_write(kp_buffer buffer, const char *path, kp_error *error);

/* Frees a buffer. */
kp_status kp_buffer_free(kp_buffer buffer, kp_error *error);

/* ---- Configurations: target, settings and allocator by name ---- */

/* Creates a configuration: code for this machine's architecture that every one of its processors runs,
 * position-independent, with the default settings and allocator.
 *
 * Ownership: the caller frees the configuration with `kp_config_free`. Modules copy what they need from it.
 */
kp_status kp_config_new(kp_config *config, kp_error *error);

/* Sets the target: a triple such as `aarch64-unknown-linux-gnu`, an architecture alone, which means Linux,
 * `host` for this machine's architecture, or `native` for this machine with all features of its processor.
 * Removes the flags of the instruction set that were set before.
 */
kp_status kp_config_set_target(kp_config config, const char *name, kp_error *error);

/* Sets a setting, or a flag of the target's instruction set such as `has_bmi2`, to a value in text form. The
 * command `kingpost compile --set help` lists them. Settings of interest:
 *
 * - `opt_level`: `none`, `speed` or `speed_and_size`;
 * - `regalloc_algorithm`: the register allocator: `ssa`, `linear`, `backtracking` or `fused`;
 * - `regalloc_checker`: `true` if the checker verifies each allocation before code is emitted;
 * - `validate_code`: `terms` or `solver` if the emitted code of each function is proved to mean what the function
 *   means; `solver` consults z3 where `terms` do not decide;
 * - `validate_failure`: what happens to a function whose code is refuted or not proved: `refuse` is the error
 *   `KP_ERROR_UNPROVED`, `recompile` replaces the code by proved code of another allocator, `report` keeps it;
 * - `is_pic`, `unwind_info`, `preserve_frame_pointers`, `debug_values`.
 */
kp_status kp_config_set(kp_config config, const char *key, const char *value, kp_error *error);

/* Sets a limit of each function; exceeding it is an error with the status `KP_ERROR_LIMIT`. The limits:
 *
 * - `work`: work units of all stages; one is about one instruction that one stage examines. Equal functions and
 *   settings take equal work on every machine;
 * - `bytes`: bytes of memory that compilation takes, without the emitted code;
 * - `instructions`, `vregs`, `frame_bytes`, `code_bytes`: instructions before and after selection, virtual
 *   registers, bytes of the frame, and bytes of code.
 */
kp_status kp_config_set_limit(kp_config config, const char *name, uint64_t value, kp_error *error);

/* Frees a configuration. */
kp_status kp_config_free(kp_config config, kp_error *error);

/* ---- Modules: functions and data that are declared by name, and become callable code or an object file ---- */

/* A pointer in a data object to a function or another data object. */
typedef struct kp_pointer {
    /* Offset of the pointer in the data object, in bytes. */
    uint64_t offset;
    /* Number of bytes that is added to the address. */
    int64_t addend;
    /* The function that it points to, or null. */
    kp_function function;
    /* The data object that it points to, or null. */
    kp_data data;
} kp_pointer;

/* Creates a module in memory. Its target must be this machine: `host` or `native`.
 *
 * Ownership: the caller frees the module with `kp_module_free`, which frees its code and data.
 */
kp_status kp_module_new_jit(kp_config config, kp_module *module, kp_error *error);

/* Creates a module that becomes a relocatable object file for the linker.
 *
 * Ownership: the caller frees the module with `kp_module_free`.
 */
kp_status kp_module_new_object(kp_config config, kp_module *module, kp_error *error);

/* Frees a module. Its functions and data, and their addresses, must not be used any more. */
kp_status kp_module_free(kp_module module, kp_error *error);

/* Declares a function. `signature` is in text form: `(i64, i32 sext) -> f64`, with a calling convention at the
 * end if it is not C's. A second declaration of a name returns the first one's function and merges the linkage.
 * The handle is valid as long as the module.
 */
kp_status kp_module_declare_function(kp_module module, const char *name, uint32_t linkage,
    const char *signature, kp_function *function, kp_error *error);

/* Declares a function without a name, which only this module can refer to. */
kp_status kp_module_declare_anonymous_function(kp_module module, const char *signature,
    kp_function *function, kp_error *error);

/* Declares a data object. `kind` is `KP_DATA_READ_ONLY` and so on. A second declaration of a name returns the
 * first one's object, merges the linkage, and makes it writable if either declaration does.
 */
kp_status kp_module_declare_data(kp_module module, const char *name, uint32_t linkage, uint32_t kind,
    kp_data *data, kp_error *error);

/* Declares a data object without a name, which only this module can refer to. */
kp_status kp_module_declare_anonymous_data(kp_module module, uint32_t kind, kp_data *data, kp_error *error);

/* Finds the function that is declared with this name. */
kp_status kp_module_find_function(kp_module module, const char *name, kp_function *function, kp_error *error);

/* Finds the data object that is declared with this name. */
kp_status kp_module_find_data(kp_module module, const char *name, kp_data *data, kp_error *error);

/* Defines a data object: these bytes, then zeros up to `size` bytes. `align` is a power of two. `pointers` are
 * addresses in it, eight bytes each.
 */
kp_status kp_module_define_data(kp_module module, kp_data data, const uint8_t *bytes, size_t length,
    uint64_t size, uint64_t align, const kp_pointer *pointers, size_t pointer_count, kp_error *error);

/* Makes `function` a second symbol of `target`, which is defined and has the same signature. The symbol has the
 * linkage of its declaration.
 */
kp_status kp_module_define_function_alias(kp_module module, kp_function function, kp_function target,
    kp_error *error);

/* Makes `data` a second symbol of `target`, which is defined and of the same kind. The symbol has the linkage of its
 * declaration.
 */
kp_status kp_module_define_data_alias(kp_module module, kp_data data, kp_data target, kp_error *error);

/* Sets the address of an imported symbol of a module in memory, for definitions that are loaded later. Symbols
 * that are not set are looked up in the process and its shared libraries.
 */
kp_status kp_module_set_symbol(kp_module module, const char *name, const void *address, kp_error *error);

/* Registers functions that are loaded later in a module in memory with gdb and lldb: names and frames. If `source`
 * is not null, debuggers also know lines and variables. Source locations are lines of the file `source`, whose name
 * is relative to `folder`. The key `debug_values` of the configuration records the places of variables.
 */
kp_status kp_module_enable_debugger(kp_module module, const char *source, const char *folder,
    kp_error *error);

/* Loads all definitions since the last call into executable memory. Their addresses are known then. After an
 * error nothing is loaded, and the next call tries again.
 */
kp_status kp_module_load(kp_module module, kp_error *error);

/* Stores the address of a loaded function or data object with this name. The address is valid until the module
 * is freed. Calling it is the caller's responsibility: the type must be the declared one.
 */
kp_status kp_module_address(kp_module module, const char *name, const void **address, kp_error *error);

/* Sets an option of the object: `source`, `folder`, `personality`, `comment` (texts), `debug_lines`, `trap_table`,
 * `function_sections` or `unwind_info` (`true` or `false`).
 */
kp_status kp_module_set_object_option(kp_module module, const char *key, const char *value, kp_error *error);

/* Stores a count of the functions that were compiled one by one in a module: `functions`, `work` (see
 * `kp_config_set_limit`), `code_bytes`, `spills`, `fills` and `moves`, and by the verdict of `validate_code`: `proved`,
 * `refuted`, `not_proved`, `out_of_scope`, and `recompiled`, which `validate_failure` replaced.
 */
kp_status kp_module_count(kp_module module, const char *name, uint64_t *count, kp_error *error);

/* Ends an object module and stores its object file. Nothing can be declared or defined in the module then.
 *
 * Ownership: the caller frees the buffer with `kp_buffer_free`, and the module with `kp_module_free`.
 */
kp_status kp_module_object(kp_module module, kp_buffer *object, kp_error *error);

/* ---- Functions and data in the text form, CLIF ---- */

/* Declares and defines the functions and data objects of a text in CLIF, which need not end in a zero byte. A
 * name of the text, `%name`, is the exported symbol `name`; `u0:N` is function number `N` of the module. A
 * signature without a calling convention has C's. The lines `test`, `set` and `target` have no effect.
 *
 * An error has the line and column of what is wrong. Functions before it stay defined.
 */
kp_status kp_module_add_text(kp_module module, const uint8_t *text, size_t length, kp_error *error);

/* ---- Tables of code in memory by address: traps, references for collectors, and names; and imported symbols ---- */

/* A reference in the frame of an active call. */
typedef struct kp_reference {
    /* Offset in bytes above the stack pointer of the function's body. */
    uint32_t offset;
    /* Type of the reference: `KP_I64` and so on. */
    uint32_t ty;
} kp_reference;

/* A lookup of imported symbols by name. Returns a null pointer for a name that it does not know. It must return,
 * without `longjmp` and without an exception.
 */
typedef const void *(*kp_lookup)(void *user, const char *name);

/* Adds a lookup for imported symbols of a module in memory. It comes before earlier lookups and the symbols of the
 * process, and after symbols that were set.
 *
 * Ownership: `user` is passed to the lookup. It must be valid until the module is freed.
 */
kp_status kp_module_add_lookup(kp_module module, kp_lookup lookup, void *user, kp_error *error);

/* Stores the address of a loaded function. Use this for functions without a name. */
kp_status kp_module_function_address(kp_module module, kp_function function, const void **address,
    kp_error *error);

/* Stores the address of a loaded data object. */
kp_status kp_module_data_address(kp_module module, kp_data data, const void **address, kp_error *error);

/* Stores the trap code of the instruction at an address of loaded code, or 0 if it is no known trap. A handler of
 * `SIGILL`, `SIGSEGV` or `SIGFPE` may call it for code that was interrupted.
 */
kp_status kp_module_trap_at(kp_module module, const void *address, uint32_t *code, kp_error *error);

/* Stores the references that are live during the call that returns to an address of loaded code: their number, up
 * to `capacity` of them, and the distance in bytes from the stack pointer of the function's body up to its frame
 * pointer. The number is 0 if there are none.
 */
kp_status kp_module_stack_map_at(kp_module module, const void *return_address, kp_reference *references,
    size_t capacity, size_t *count, uint32_t *body_offset, kp_error *error);

/* Stores the name of the function whose loaded code contains an address, and the offset of the address in it.
 * `name` may be null, for collectors that walk frames and only need to know whether there is a function.
 *
 * Ownership: the caller frees the buffer with `kp_buffer_free`.
 */
kp_status kp_module_function_at(kp_module module, const void *address, kp_buffer *name, size_t *offset,
    kp_error *error);

/* ---- Functions that are built instruction by instruction: blocks, variables, and what functions refer to ---- */

/* Starts the definition of a declared function. The functions below, from `kp_create_block` on, build it. If one
 * of them fails, it returns null, the builder keeps the error, and later calls do nothing and return null, so
 * that a program need not check each call: `kp_builder_error` and `kp_builder_finish` report the first error.
 *
 * Ownership: the builder is freed by `kp_builder_finish` or `kp_builder_free`, and belongs to no module.
 */
kp_status kp_builder_new(kp_module module, kp_function function, kp_builder *builder, kp_error *error);

/* Returns the first error of building so far, or `KP_OK`. */
kp_status kp_builder_error(kp_builder builder, kp_error *error);

/* Stores the function so far as CLIF text. Names of functions and data are numbers of the module.
 *
 * Ownership: the caller frees the buffer with `kp_buffer_free`.
 */
kp_status kp_builder_text(kp_builder builder, kp_buffer *text, kp_error *error);

/* Ends building, compiles the function, and adds it to its module. Reports the first error of building.
 *
 * Ownership: frees the builder, also after an error, unless the builder or its module is in use
 * (`KP_ERROR_BUSY`).
 */
kp_status kp_builder_finish(kp_builder builder, kp_error *error);

/* Frees a builder without a definition. */
kp_status kp_builder_free(kp_builder builder, kp_error *error);

/* Creates a block. The first block that is switched to is the entry of the function. */
kp_block kp_create_block(kp_builder builder);

/* Appends a parameter to a block, and returns its value. */
kp_value kp_append_block_param(kp_builder builder, kp_block block, uint32_t ty);

/* Appends the parameters of the function to a block, its first. */
void kp_append_function_params(kp_builder builder, kp_block block);

/* Returns the value of a parameter of a block. `index` counts from 0. */
kp_value kp_block_param(kp_builder builder, kp_block block, uint32_t index);

/* Adds instructions to the end of this block from now on. */
void kp_switch_to_block(kp_builder builder, kp_block block);

/* Seals a block: all branches to it exist. Values of variables are known then. */
void kp_seal_block(kp_builder builder, kp_block block);

/* Seals all blocks that are not sealed. */
void kp_seal_all_blocks(kp_builder builder);

/* Marks a block that is rarely executed. Its code is placed at the end. */
void kp_set_cold_block(kp_builder builder, kp_block block);

/* Sets how often a block runs, on average, for each call of the function. Below 1/512 it is cold. Registers, the order of
 * code and inlining depend on it, but no result.
 */
void kp_set_block_frequency(kp_builder builder, kp_block block, double runs);

/* Sets how often the branch that ends the current block takes each of its destinations, in proportion to the others: two
 * weights for `kp_ins_brif`, and for `kp_ins_br_table` the one of `otherwise` first. Frequencies of blocks without one
 * are computed from these. Call it before switching to another block.
 */
void kp_set_branch_weights(kp_builder builder, const uint32_t *weights, size_t count);

/* Declares a variable, which may be assigned many times. */
kp_variable kp_declare_variable(kp_builder builder, uint32_t ty);

/* Assigns a value to a variable in the current block. */
void kp_define_variable(kp_builder builder, kp_variable variable, kp_value value);

/* Returns the value of a variable in the current block; zero if none was assigned. */
kp_value kp_use_variable(kp_builder builder, kp_variable variable);

/* Creates a stack slot of `bytes` bytes, aligned to `align` bytes, a power of two. */
kp_slot kp_create_stack_slot(kp_builder builder, uint32_t bytes, uint32_t align);

/* Returns a callee for calls of a function of the module. */
kp_callee kp_import_function(kp_builder builder, kp_function function);

/* Returns a signature for calls through addresses. Its text is as for `kp_module_declare_function`. */
kp_signature kp_import_signature(kp_builder builder, const char *text);

/* Returns the type of a value. */
uint32_t kp_value_type(kp_builder builder, kp_value value);

/* Returns a result of the last instruction; for calls with several results. `index` counts from 0. */
kp_value kp_result(kp_builder builder, uint32_t index);

/* ---- Facts for debuggers and collectors about a function that is built: source lines, names, and stack maps ---- */

/* Sets the source location of instructions that are added from now on: a number of the front end, for instance a
 * line.
 */
void kp_set_source_location(kp_builder builder, uint32_t location);

/* Sets the name that a variable has in the source, before the variable gets its first value. With the setting
 * `debug_values`, debuggers show it.
 */
void kp_set_variable_name(kp_builder builder, kp_variable variable, const char *name);

/* Records that a value is the value of a variable with this name in the source, from its definition to the
 * definition of the next value with the name. A function with names has no other variables in debuggers; without
 * names, each value is one.
 */
void kp_set_value_name(kp_builder builder, kp_value value, const char *name);

/* Makes the values of a variable appear in the stack maps of the calls during which they are live, so that a
 * collector can find and update them. Comes before the variable gets its first value.
 */
void kp_variable_needs_stack_map(kp_builder builder, kp_variable variable);

/* Makes a value appear in the stack maps of the calls during which it is live. Values that are computed from it,
 * such as addresses of fields, are not updated.
 */
void kp_value_needs_stack_map(kp_builder builder, kp_value value);

/* Adds a reference to the stack map of the last instruction, a call: a moving collector finds it in the stack
 * slot, at `offset` bytes, during the call. For references that the front end keeps in slots itself.
 */
void kp_add_stack_map(kp_builder builder, kp_slot slot, uint32_t offset, uint32_t ty);

/* ---- Instructions: one function for each form of operands, with the opcode as an argument ---- */

/* Adds an instruction without operands. `ty` is the type of the result where the opcode needs one, otherwise
 * `KP_INFER`.
 */
kp_value kp_ins_nullary(kp_builder builder, uint32_t opcode, uint32_t ty);

/* Adds an instruction with one operand. `ty` is the type of the result where the opcode needs one, such as
 * `KP_OP_UEXTEND`, otherwise `KP_INFER`.
 */
kp_value kp_ins_unary(kp_builder builder, uint32_t opcode, uint32_t ty, kp_value x);

/* Adds an instruction with two operands, such as `KP_OP_IADD`. */
kp_value kp_ins_binary(kp_builder builder, uint32_t opcode, kp_value x, kp_value y);

/* Adds an instruction with two operands, the second one an integer constant of the first one's type. */
kp_value kp_ins_binary_imm(kp_builder builder, uint32_t opcode, kp_value x, int64_t y);

/* Adds an instruction with three operands, such as `KP_OP_SELECT`. */
kp_value kp_ins_ternary(kp_builder builder, uint32_t opcode, kp_value x, kp_value y, kp_value z);

/* Adds an integer constant of at most 64 bits. Keeps the low bits of `value` that fit the type. */
kp_value kp_ins_iconst(kp_builder builder, uint32_t ty, int64_t value);

/* Adds a constant of type f32. */
kp_value kp_ins_f32const(kp_builder builder, float value);

/* Adds a constant of type f64. */
kp_value kp_ins_f64const(kp_builder builder, double value);

/* Adds a constant of a vector type, or of type f16 or f128: its bytes, the least significant one first. */
kp_value kp_ins_constant(kp_builder builder, uint32_t ty, const uint8_t *bytes, size_t length);

/* Adds a comparison of integers. `condition` is one of `KP_INT_EQ` and so on; the result is 0 or 1, of type i8. */
kp_value kp_ins_icmp(kp_builder builder, uint32_t condition, kp_value x, kp_value y);

/* Adds a comparison of floats. `condition` is one of `KP_FLOAT_EQ` and so on; the result is 0 or 1, of type i8. */
kp_value kp_ins_fcmp(kp_builder builder, uint32_t condition, kp_value x, kp_value y);

/* Adds a load from `address + offset`. `flags` are a combination of `KP_MEM_NOTRAP` and so on. `ty` is the type of
 * the result where the opcode needs one, such as `KP_OP_LOAD`, otherwise `KP_INFER`.
 */
kp_value kp_ins_load(kp_builder builder, uint32_t opcode, uint32_t ty, uint32_t flags, kp_value address,
    int32_t offset);

/* Adds a store of a value to `address + offset`. */
void kp_ins_store(kp_builder builder, uint32_t opcode, uint32_t flags, kp_value value, kp_value address,
    int32_t offset);

/* Adds a cast between types of equal size. `flags` are 0, or a byte order. */
kp_value kp_ins_bitcast(kp_builder builder, uint32_t ty, uint32_t flags, kp_value x);

/* Adds a sequentially consistent load of an integer. */
kp_value kp_ins_atomic_load(kp_builder builder, uint32_t ty, uint32_t flags, kp_value address);

/* Adds a sequentially consistent store of an integer. */
void kp_ins_atomic_store(kp_builder builder, uint32_t flags, kp_value value, kp_value address);

/* Adds an atomic read-modify-write operation, `KP_RMW_ADD` and so on. The result is the old value. */
kp_value kp_ins_atomic_rmw(kp_builder builder, uint32_t ty, uint32_t flags, uint32_t operation,
    kp_value address, kp_value value);

/* Adds an atomic compare-and-exchange. The result is the old value. */
kp_value kp_ins_atomic_cas(kp_builder builder, uint32_t flags, kp_value address, kp_value expected,
    kp_value value);

/* Adds the extraction of a lane of a vector (`KP_OP_EXTRACTLANE`), or of a part (`KP_OP_EXTRACT_VECTOR`). */
kp_value kp_ins_extract_lane(kp_builder builder, uint32_t opcode, kp_value vector, uint32_t lane);

/* Adds the replacement of one lane of a vector. */
kp_value kp_ins_insert_lane(kp_builder builder, kp_value vector, kp_value value, uint32_t lane);

/* Adds a selection of bytes of two vectors by 16 indices. */
kp_value kp_ins_shuffle(kp_builder builder, kp_value x, kp_value y, const uint8_t *mask);

/* Adds the computation of an address in a stack slot. */
kp_value kp_ins_stack_address(kp_builder builder, uint32_t ty, kp_slot slot, int32_t offset);

/* Adds the computation of the address of a data object of the module. */
kp_value kp_ins_data_address(kp_builder builder, uint32_t ty, kp_data data);

/* Adds the computation of the address of a function. */
kp_value kp_ins_function_address(kp_builder builder, uint32_t ty, kp_callee callee);

/* Adds a call. Returns the first result, or null if there is none; `kp_result` returns the others. */
kp_value kp_ins_call(kp_builder builder, kp_callee callee, const kp_value *arguments, size_t count);

/* Adds a call of an address. */
kp_value kp_ins_call_indirect(kp_builder builder, kp_signature signature, kp_value address,
    const kp_value *arguments, size_t count);

/* Adds a tail call, which ends the block. */
void kp_ins_return_call(kp_builder builder, kp_callee callee, const kp_value *arguments, size_t count);

/* Adds a tail call of an address, which ends the block. */
void kp_ins_return_call_indirect(kp_builder builder, kp_signature signature, kp_value address,
    const kp_value *arguments, size_t count);

/* Adds a return of values, which ends the block. */
void kp_ins_return(kp_builder builder, const kp_value *values, size_t count);

/* Adds a jump, which ends the block. */
void kp_ins_jump(kp_builder builder, kp_block block, const kp_value *arguments, size_t count);

/* Adds a branch, which ends the block: to `then_block` if the condition is not zero, otherwise to `else_block`. */
void kp_ins_brif(kp_builder builder, kp_value condition, kp_block then_block,
    const kp_value *then_arguments, size_t then_count, kp_block else_block, const kp_value *else_arguments,
    size_t else_count);

/* Adds a branch to block number `index` of an array, which ends the block, or to `otherwise` if there is no such
 * block. `index` has type i32. The blocks have no parameters.
 */
void kp_ins_br_table(kp_builder builder, kp_value index, kp_block otherwise, const kp_block *blocks,
    size_t count);

/* Adds a branch to the block of the key that equals a value, which ends the block, or to `otherwise` if there is
 * no such key. The value is an unsigned integer of at most 64 bits. The blocks have no parameters.
 */
void kp_ins_switch(kp_builder builder, kp_value value, kp_block otherwise, const uint64_t *keys,
    const kp_block *blocks, size_t count);

/* Adds a trap with this code, which ends the block. */
void kp_ins_trap(kp_builder builder, uint32_t code);

/* Adds a trap for the case that a condition is zero (`KP_OP_TRAPZ`) or not zero (`KP_OP_TRAPNZ`). */
void kp_ins_trap_if(kp_builder builder, uint32_t opcode, kp_value condition, uint32_t code);

/* Adds an unsigned addition that traps on overflow. */
kp_value kp_ins_add_or_trap(kp_builder builder, kp_value x, kp_value y, uint32_t code);

/* ---- Register allocation by texts: allocators of the caller, and allocation and checking of problems in `.ra` text ---- */

/* A register allocator of the caller. `problem` is the machine and the problem as `.ra` text, which ends in a zero
 * byte; it is valid during the call. The allocator appends an allocation as text to `answer` with `kp_buffer_append`,
 * and returns 0. If an instruction needs more registers than there are, the text is `impossible i2 int`, or
 * `impossible i2 r1` for a register that two operands need. With another result than 0 the allocator gives up.
 *
 * It may be called in every thread that compiles, and may use other objects of the library. It must return, without
 * `longjmp` and without an exception.
 */
typedef int32_t (*kp_allocate)(void *user, const char *problem, size_t length, kp_buffer answer);

/* Sets an allocator of the caller for modules that are created later, and turns the setting `regalloc_checker`
 * on, so that a wrong answer is the error `KP_ERROR_ALLOCATION`. A null `allocate` removes the allocator.
 *
 * Ownership: `user` is passed to the allocator. It must be valid until all modules that were created with this
 * configuration are freed.
 */
kp_status kp_config_set_allocator(kp_config config, kp_allocate allocate, void *user, kp_error *error);

/* Solves the allocation problems of a `.ra` text with the allocator of a configuration, and stores the text with
 * the answers. The machine is the one of the text, or otherwise the one of the configuration's target.
 *
 * Ownership: the caller frees the buffer with `kp_buffer_free`.
 */
kp_status kp_allocate_text(kp_config config, const uint8_t *text, size_t length, kp_buffer *answer,
    kp_error *error);

/* Checks the allocations of a `.ra` text. Stores the number of findings, and the findings as text, one per line.
 *
 * Ownership: the caller frees the buffer with `kp_buffer_free`.
 */
kp_status kp_check_text(kp_config config, const uint8_t *text, size_t length, size_t *findings,
    kp_buffer *report, kp_error *error);

/* ---- Facts about functions and their allocations as JSON, for programs that compare allocators ---- */

/* Stores the names of the register allocators, one per line. The first one is the default.
 *
 * Ownership: the caller frees the buffer with `kp_buffer_free`.
 */
kp_status kp_allocators(kp_buffer *names, kp_error *error);

/* Checks the functions of a text in CLIF against the rules of the language, for the target of a configuration.
 * Stores the number of findings, and the findings as text, one per line: `line:column: function: message`. A text
 * that cannot be read is an error.
 *
 * Ownership: the caller frees the buffer with `kp_buffer_free`.
 */
kp_status kp_verify_text(kp_config config, const uint8_t *text, size_t length, size_t *findings,
    kp_buffer *report, kp_error *error);

/* Allocates the registers of each function of a text with the allocator of a configuration, and stores a table
 * as an array of JSON objects: instructions, values, blocks, spills, fills, moves, exchanges,
 * rematerializations, slots, callee-saved registers, bytes, weighted cost and others. The text is CLIF, or
 * problems in `.ra` form if no line begins with `function`; these have no bytes of code. The checker verifies
 * each allocation of a problem, and of a function if the setting `regalloc_checker` is on.
 *
 * Ownership: the caller frees the buffer with `kp_buffer_free`.
 */
kp_status kp_allocation_table(kp_config config, const uint8_t *text, size_t length, kp_buffer *table,
    kp_error *error);

/* Compiles each function of a text in CLIF, and stores what became of it as an array of JSON objects: the names
 * of virtual registers, the rows of the listing, and the live ranges of values in locations. A range is the index
 * of a value, the index of a location, and the first and the last half row, exclusive; row `r` covers `2r..2r+2`.
 *
 * Ownership: the caller frees the buffer with `kp_buffer_free`.
 */
kp_status kp_explain_text(kp_config config, const uint8_t *text, size_t length, kp_buffer *explanation,
    kp_error *error);

#ifdef __cplusplus
}
#endif

#endif
