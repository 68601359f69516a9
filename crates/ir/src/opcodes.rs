//! The opcode table: every fact of an opcode in one row.
//!
//! A row consists of variant, name in the text (and of the builder's method), instruction format, operands, results,
//! class of the controlling type, suffix rule, properties and meaning. Operands are the value operands that every
//! instruction of the opcode has, in the order of the text; the format determines everything else in the text. The
//! enum, the lookup by name, type checking, the predicates on effects and the documentation are all derived from the
//! rows. The chapter *Lowering* of the book lists the steps to add an opcode.

use std::fmt;

use crate::type_class::{Constraint, TypeClass, columns};

/// The shape of an instruction: which operands and immediates it has.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the variants of `InstView` have the same names and say more")]
pub enum Format {
    Nullary,
    Unary,
    Binary,
    Ternary,
    MultiAry,
    UnaryImm,
    UnaryIeee16,
    UnaryIeee32,
    UnaryIeee64,
    UnaryConst,
    BinaryImm8,
    TernaryImm8,
    Shuffle,
    IntCompare,
    FloatCompare,
    Trap,
    CondTrap,
    IntAddTrap,
    Load,
    Store,
    LoadNoOffset,
    StoreNoOffset,
    AtomicRmw,
    AtomicCas,
    StackAddr,
    DynamicStackAddr,
    UnaryGlobalValue,
    FuncAddr,
    ExceptionHandlerAddress,
    Jump,
    Brif,
    BranchTable,
    Call,
    CallIndirect,
    TryCall,
    TryCallIndirect,
}

/// The suffix rule: whether the controlling type is written after the opcode, and its source otherwise.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Suffix {
    /// The opcode is not polymorphic; it has no suffix.
    None,
    /// The suffix must be written; it is the type of the first result.
    Required,
    /// The suffix is optional; the controlling type is the one of this value operand (an index).
    From(u8),
}

/// The properties column. Each name is one bit.
#[allow(non_upper_case_globals, reason = "the table's columns read like its documentation")]
pub(crate) mod properties {
    pub(crate) const terminator: u16 = 1;
    pub(crate) const branch: u16 = 1 << 1;
    pub(crate) const call: u16 = 1 << 2;
    pub(crate) const returns: u16 = 1 << 3;
    pub(crate) const load: u16 = 1 << 4;
    pub(crate) const store: u16 = 1 << 5;
    pub(crate) const effects: u16 = 1 << 6;
    pub(crate) const mergeable: u16 = 1 << 7;
    pub(crate) const trap_code: u16 = 1 << 8;
    pub(crate) const int_divz: u16 = 1 << 9;
    pub(crate) const int_ovf: u16 = 1 << 10;
    pub(crate) const bad_toint: u16 = 1 << 11;
    pub(crate) const commutes: u16 = 1 << 12;

    // Properties that follow from the others and the format.
    pub(crate) const memory_flags: u16 = 1 << 13;
    pub(crate) const side_effects: u16 = 1 << 14;
}

/// Returns the properties of a row, including derived ones.
const fn with_derived(written: u16, format: Format) -> u16 {
    let has_memory_flags = match format {
        Format::Load | Format::Store | Format::StoreNoOffset | Format::AtomicRmw | Format::AtomicCas => true,
        Format::LoadNoOffset => written & properties::load != 0,
        _ => false,
    };
    let effects = properties::terminator
        | properties::call
        | properties::store
        | properties::effects
        | properties::trap_code
        | properties::int_divz
        | properties::int_ovf
        | properties::bad_toint;
    let memory_flags = if has_memory_flags { properties::memory_flags } else { 0 };
    let side_effects = if has_memory_flags || written & effects != 0 { properties::side_effects } else { 0 };
    written | memory_flags | side_effects
}

/// A row of the table.
#[derive(Debug)]
pub struct OpcodeInfo {
    /// The name in the text.
    pub name: &'static str,
    /// The shape of its instructions.
    pub format: Format,
    /// Names of the value operands that every instruction of the opcode has.
    pub operand_names: &'static [&'static str],
    /// Constraints on the types of operands.
    pub operands: &'static [Constraint],
    /// Names of the results. A call has the results of its signature instead.
    pub result_names: &'static [&'static str],
    /// Types of results.
    pub results: &'static [Constraint],
    /// The class of the controlling type.
    pub class: TypeClass,
    /// Source of the controlling type.
    pub suffix: Suffix,
    /// Meaning, in a sentence or two.
    pub doc: &'static str,
}

macro_rules! opcodes {
    ($(
        $variant:ident $name:ident $format:ident
        [$($operand:ident: $operand_type:ident),*] -> [$($result:ident: $result_type:ident),*]
        $class:ident $suffix:ident $($from:ident)? {$($property:ident)*}
        $doc:literal;
    )*) => {
        /// The operation of an instruction.
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Opcode {
            $(#[doc = $doc] $variant,)*
        }

        impl Opcode {
            /// All opcodes in the order of the table.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$variant),*];
        }

        static TABLE: [OpcodeInfo; Opcode::ALL.len()] = [$(
            OpcodeInfo {
                name: text_name(stringify!($name)),
                format: Format::$format,
                operand_names: &[$(stringify!($operand)),*],
                operands: &[$(columns::$operand_type),*],
                result_names: &[$(stringify!($result)),*],
                results: &[$(columns::$result_type),*],
                class: TypeClass::$class,
                suffix: suffix(
                    stringify!($suffix),
                    &[$(stringify!($operand)),*],
                    concat!("" $(, stringify!($from))?),
                ),
                doc: $doc,
            },
        )*];

        /// Columns that hot loops read, stored apart from the rows.
        pub(crate) static FORMATS: [Format; Opcode::ALL.len()] = [$(Format::$format),*];
        pub(crate) static INLINE_ARGS: [u8; Opcode::ALL.len()] = [$(inline_args(Format::$format)),*];
        pub(crate) static SUFFIXES: [Suffix; Opcode::ALL.len()] = [$(suffix(
            stringify!($suffix),
            &[$(stringify!($operand)),*],
            concat!("" $(, stringify!($from))?),
        )),*];
        pub(crate) static PROPERTIES: [u16; Opcode::ALL.len()] =
            [$(with_derived(0 $(| properties::$property)*, Format::$format)),*];

        pub(crate) const NAMES: [&[u8]; Opcode::ALL.len()] =
            [$(text_name(stringify!($name)).as_bytes()),*];
    };
}

/// Passes the rows to a macro.
macro_rules! opcode_table {
    ($callback:ident) => {
        $callback! {
    // Control flow and calls.
    Jump jump Jump [] -> [] No none {terminator branch}
        "Go to the block, passing the arguments.";
    Brif brif Brif [c: Same] -> [] IB from c {terminator branch}
        "Go to the first block if `c` is not zero (any width up to i128), otherwise to the \
         second.";
    BrTable br_table BranchTable [x: I32] -> [] No none {terminator branch}
        "`x` is an unsigned index into the bracketed list; the block before the list is the \
         default for an index past the end.";
    Return return_ MultiAry [] -> [] No none {terminator returns}
        "Return the values; number and types must match the function's results. Without values \
         nothing follows the opcode.";
    Trap trap Trap [] -> [] No none {terminator trap_code}
        "Stop with this trap code. Ends the block.";
    Trapz trapz CondTrap [c: Same] -> [] IB from c {trap_code mergeable}
        "Trap if `c` is zero, otherwise go on.";
    Trapnz trapnz CondTrap [c: Same] -> [] IB from c {trap_code mergeable}
        "Trap if `c` is not zero, otherwise go on.";
    Debugtrap debugtrap Nullary [] -> [] No none {load store effects}
        "Breakpoint instruction; execution can continue after it. Must not be moved or removed.";
    Call call Call [] -> [] No none {call}
        "Call a declared function. The results have the types of its signature; the number of \
         result names must match.";
    CallIndirect call_indirect CallIndirect [callee: Same] -> [] IAddr from callee {call}
        "Call the code at address `callee` with this signature.";
    ReturnCall return_call Call [] -> [] No none {terminator call returns}
        "Tail call: replaces the current frame. Caller and callee must have the same \
         convention, it must be `tail`, and the result types must be the caller's. Ends the \
         block.";
    ReturnCallIndirect return_call_indirect CallIndirect [callee: Same] -> [] IAddr from callee {terminator call returns}
        "Tail call through an address; same rules as `return_call`.";
    TryCall try_call TryCall [] -> [] No none {terminator branch call}
        "Call that ends the block. On normal return go to the table's normal block, where \
         `retN` is result N; if an exception with a listed tag (or `default`) arrives, \
         go to that block, where `exnN` is payload N. With no match the exception propagates \
         to the caller's caller. Defines no results itself. The signature in the table must \
         equal the one of the function.";
    TryCallIndirect try_call_indirect TryCallIndirect [callee: Same] -> [] IAddr from callee {terminator branch call}
        "As `try_call` with an address; the signature is the one in the exception table.";
    FuncAddr func_addr FuncAddr [] -> [addr: Same] IAddr required {}
        "Address of a declared function, usable as a `callee`.";
    GetExceptionHandlerAddress get_exception_handler_address ExceptionHandlerAddress [] -> [addr: Same] IAddr required {}
        "Code address of exceptional edge number `index` (0 is the first handler) of the \
         `try_call` that ends the given block.";
    StackSwitch stack_switch Ternary [store_context_ptr: Same, load_context_ptr: Same, in_payload0: Same] -> [out_payload0: Same] IAddr from load_context_ptr {call load store effects}
        "Save the current stack's context at `store_context_ptr`, load the one at \
         `load_context_ptr`, go on there. `in_payload0` becomes the result on the other stack. \
         All loads happen before the stores, so both pointers may be equal. Experimental, one \
         target only, needs `stack_switch_model`. Contexts are used once.";
    SequencePoint sequence_point Nullary [] -> [] No none {effects}
        "Emits no code; no side effect may move across it. It can carry debug tags.";
    Nop nop Nullary [] -> [] No none {}
        "Does nothing; compiles to no code.";

    // Memory.
    Load load Load [p: IAddr] -> [a: Same] Mem required {load}
        "Load a value of the suffix type from `p + offset`.";
    Store store Store [x: Same, p: IAddr] -> [] Mem from x {store}
        "Store `x` at `p + offset`. The suffix, if written, is the type of `x`.";
    Uload8 uload8 Load [p: IAddr] -> [a: Same] IFrom16 required {load}
        "Load 8 bits and zero-extend to the result type.";
    Sload8 sload8 Load [p: IAddr] -> [a: Same] IFrom16 required {load}
        "Load 8 bits and sign-extend to the result type.";
    Istore8 istore8 Store [x: Same, p: IAddr] -> [] IFrom16 from x {store}
        "Store the low 8 bits of `x`.";
    Uload16 uload16 Load [p: IAddr] -> [a: Same] IFrom32 required {load}
        "Load 16 bits and zero-extend to the result type.";
    Sload16 sload16 Load [p: IAddr] -> [a: Same] IFrom32 required {load}
        "Load 16 bits and sign-extend to the result type.";
    Istore16 istore16 Store [x: Same, p: IAddr] -> [] IFrom32 from x {store}
        "Store the low 16 bits of `x`.";
    Uload32 uload32 Load [p: Same] -> [a: I64] IAddr from p {load}
        "Load 32 bits and zero-extend to the result type. The result is always i64; an optional \
         suffix is the type of `p`.";
    Sload32 sload32 Load [p: Same] -> [a: I64] IAddr from p {load}
        "Load 32 bits and sign-extend to the result type. The result is always i64; an optional \
         suffix is the type of `p`.";
    Istore32 istore32 Store [x: Same, p: IAddr] -> [] I64Only from x {store}
        "Store the low 32 bits of `x`.";
    Uload8x8 uload8x8 Load [p: Same] -> [a: I16x8] IAddr from p {load}
        "Load 64 bits as 8 lanes and zero-extend each; the result is i16x8. An optional suffix \
         is the type of `p`.";
    Sload8x8 sload8x8 Load [p: Same] -> [a: I16x8] IAddr from p {load}
        "Load 64 bits as 8 lanes and sign-extend each; the result is i16x8. An optional suffix \
         is the type of `p`.";
    Uload16x4 uload16x4 Load [p: Same] -> [a: I32x4] IAddr from p {load}
        "Load 64 bits as 4 lanes and zero-extend each; the result is i32x4. An optional suffix \
         is the type of `p`.";
    Sload16x4 sload16x4 Load [p: Same] -> [a: I32x4] IAddr from p {load}
        "Load 64 bits as 4 lanes and sign-extend each; the result is i32x4. An optional suffix \
         is the type of `p`.";
    Uload32x2 uload32x2 Load [p: Same] -> [a: I64x2] IAddr from p {load}
        "Load 64 bits as 2 lanes and zero-extend each; the result is i64x2. An optional suffix \
         is the type of `p`.";
    Sload32x2 sload32x2 Load [p: Same] -> [a: I64x2] IAddr from p {load}
        "Load 64 bits as 2 lanes and sign-extend each; the result is i64x2. An optional suffix \
         is the type of `p`.";
    StackAddr stack_addr StackAddr [] -> [addr: Same] IAddr required {}
        "Address of byte `offset` of a stack slot; the offset must be at least 0 and less than \
         the slot's size.";
    DynamicStackAddr dynamic_stack_addr DynamicStackAddr [] -> [addr: Same] IAddr required {}
        "Address of the first byte of a dynamic stack slot.";
    SymbolValue symbol_value UnaryGlobalValue [] -> [a: Same] Mem required {}
        "Value of a global value; the suffix must be the global value's type.";
    TlsValue tls_value UnaryGlobalValue [] -> [a: Same] Mem required {}
        "As `symbol_value` for a symbol declared `tls`; the access follows the setting \
         `tls_model`.";

    // Atomics.
    AtomicRmw atomic_rmw AtomicRmw [p: IAddr, x: Same] -> [a: Same] IB required {load store effects}
        "One sequentially consistent step: read the old value at `p`, write `op(old, x)`, \
         return the old value. Wraps; `xchg` writes `x`; `nand` writes `not (old and x)`; the \
         `min`/`max` kinds pick by the named signedness.";
    AtomicCas atomic_cas AtomicCas [p: IAddr, e: Same, x: Same] -> [a: Same] IB from x {load store effects}
        "Sequentially consistent: read the value at `p`; if it equals `e`, write `x`. Returns \
         the old value in both cases.";
    AtomicLoad atomic_load LoadNoOffset [p: IAddr] -> [a: Same] IB required {load effects}
        "Sequentially consistent load of an integer.";
    AtomicStore atomic_store StoreNoOffset [x: Same, p: IAddr] -> [] IB from x {store effects}
        "Sequentially consistent store of an integer.";
    Fence fence Nullary [] -> [] No none {effects}
        "Sequentially consistent fence: no load or store crosses it.";

    // Special registers.
    GetPinnedReg get_pinned_reg Nullary [] -> [addr: Same] IAddr required {effects}
        "Read the pinned register (r15 on x86_64, x21 on aarch64). Needs the setting \
         `enable_pinned_reg`.";
    SetPinnedReg set_pinned_reg Unary [addr: Same] -> [] IAddr from addr {effects}
        "Write the pinned register. Needs the setting `enable_pinned_reg`.";
    GetFramePointer get_frame_pointer Nullary [] -> [addr: Same] IAddr required {}
        "Frame pointer of this frame. Needs the setting `preserve_frame_pointers`.";
    GetStackPointer get_stack_pointer Nullary [] -> [addr: Same] IAddr required {}
        "Current stack pointer.";
    GetReturnAddress get_return_address Nullary [] -> [addr: Same] IAddr required {}
        "Address to which this function will return. Needs the setting \
         `preserve_frame_pointers`.";

    // Constants.
    Iconst iconst UnaryImm [] -> [a: Same] IN required {}
        "Integer constant of the suffix type, i8 to i64 only; there is no i128 constant (use \
         `iconcat` or an extension). Both signed and unsigned spellings in the width are \
         accepted and are stored as the low bits.";
    F16const f16const UnaryIeee16 [] -> [a: F16] No none {}
        "f16 constant.";
    F32const f32const UnaryIeee32 [] -> [a: F32] No none {}
        "f32 constant.";
    F64const f64const UnaryIeee64 [] -> [a: F64] No none {}
        "f64 constant.";
    F128const f128const UnaryConst [] -> [a: F128] No none {}
        "f128 constant: a float literal or `constN` of 16 bytes.";
    Vconst vconst UnaryConst [] -> [a: Same] TxNFixed required {}
        "Vector constant: `constN`, a hexadecimal literal or a bracketed lane list. Its size \
         must be the size of the type.";

    // Selection and reduction to a flag.
    Select select Ternary [c: IB, x: Same, y: Same] -> [a: Same] Any from x {}
        "`x` if `c` is not zero, otherwise `y`. `c` is a scalar also where `x` and `y` are \
         vectors.";
    SelectSpectreGuard select_spectre_guard Ternary [c: IB, x: Same, y: Same] -> [a: Same] Any from x {}
        "Same value as `select`, but the code must not branch on `c` or speculate about it \
         (conditional move).";
    Bitselect bitselect Ternary [c: Same, x: Same, y: Same] -> [a: Same] Any from x {}
        "Bit by bit: the bit of `x` where `c` has a one, otherwise the bit of `y`. All three have \
         one type; floats are taken as bits.";
    Blendv blendv Ternary [c: Same, x: Same, y: Same] -> [a: Same] Any from x {}
        "Lane by lane: `x` where the top bit of the lane in `c` is set, otherwise `y`.";
    Bmask bmask Unary [x: IB] -> [a: Same] IB required {}
        "All ones of the result type if `x` is not zero, otherwise 0. The two widths are \
         independent.";
    VanyTrue vany_true Unary [a: Same] -> [s: I8] TxNFixed from a {}
        "1 if any lane is not all zero bits, otherwise 0.";
    VallTrue vall_true Unary [a: Same] -> [s: I8] TxNFixed from a {}
        "1 if no lane is all zero bits, otherwise 0.";
    VhighBits vhigh_bits Unary [a: TxNFixed] -> [x: Same] IN required {}
        "Integer whose bit i is the top bit of lane i; the other bits are 0. The suffix is the \
         result type. Float lanes are taken as bits.";

    // Integer comparison and arithmetic.
    Icmp icmp IntCompare [x: Same, y: Same] -> [a: Truthy] Int from x {}
        "Compare as the code says. Scalars give i8 1 or 0; vectors give a vector of integers \
         with all-ones or zero lanes.";
    Iadd iadd Binary [x: Same, y: Same] -> [a: Same] Int from x {commutes}
        "Sum, wrapping.";
    Isub isub Binary [x: Same, y: Same] -> [a: Same] Int from x {}
        "Difference, wrapping.";
    Ineg ineg Unary [x: Same] -> [a: Same] Int from x {}
        "Two's complement negation; the minimum stays as it is.";
    Iabs iabs Unary [x: Same] -> [a: Same] Int from x {}
        "Signed absolute value; the minimum stays as it is.";
    Imul imul Binary [x: Same, y: Same] -> [a: Same] Int from x {commutes}
        "Low half of the product, wrapping.";
    Umulhi umulhi Binary [x: Same, y: Same] -> [a: Same] Int from x {commutes}
        "High half of the double-width unsigned product.";
    Smulhi smulhi Binary [x: Same, y: Same] -> [a: Same] Int from x {commutes}
        "High half of the double-width signed product.";
    Smin smin Binary [x: Same, y: Same] -> [a: Same] IntV from x {commutes}
        "Smaller of the two, lane by lane, signed.";
    Smax smax Binary [x: Same, y: Same] -> [a: Same] IntV from x {commutes}
        "Larger of the two, lane by lane, signed.";
    Umin umin Binary [x: Same, y: Same] -> [a: Same] IntV from x {commutes}
        "Smaller of the two, lane by lane, unsigned.";
    Umax umax Binary [x: Same, y: Same] -> [a: Same] IntV from x {commutes}
        "Larger of the two, lane by lane, unsigned.";
    Udiv udiv Binary [x: Same, y: Same] -> [a: Same] IB from x {int_divz mergeable}
        "Unsigned quotient. Traps `int_divz` if `y` is 0.";
    Sdiv sdiv Binary [x: Same, y: Same] -> [a: Same] IB from x {int_divz int_ovf mergeable}
        "Signed quotient, rounded to zero. Traps `int_divz` if `y` is 0 and `int_ovf` for \
         minimum / -1.";
    Urem urem Binary [x: Same, y: Same] -> [a: Same] IB from x {int_divz mergeable}
        "Unsigned remainder. Traps `int_divz` if `y` is 0.";
    Srem srem Binary [x: Same, y: Same] -> [a: Same] IB from x {int_divz mergeable}
        "Signed remainder with the sign of `x`. Traps `int_divz` if `y` is 0. Minimum % -1 is 0 \
        .";

    // Integer arithmetic with overflow.
    UaddOverflow uadd_overflow Binary [x: Same, y: Same] -> [a: Same, of: I8] IB from x {commutes}
        "Wrapped sum, and 1 if the unsigned sum did not fit.";
    SaddOverflow sadd_overflow Binary [x: Same, y: Same] -> [a: Same, of: I8] IB from x {commutes}
        "Wrapped sum, and 1 if the signed sum did not fit.";
    UsubOverflow usub_overflow Binary [x: Same, y: Same] -> [a: Same, of: I8] IB from x {}
        "Wrapped difference, and 1 if `x` is below `y` unsigned.";
    SsubOverflow ssub_overflow Binary [x: Same, y: Same] -> [a: Same, of: I8] IB from x {}
        "Wrapped difference, and 1 if the signed difference did not fit.";
    UmulOverflow umul_overflow Binary [x: Same, y: Same] -> [a: Same, of: I8] IN from x {commutes}
        "Wrapped product, and 1 if the unsigned product did not fit. Not for i128.";
    SmulOverflow smul_overflow Binary [x: Same, y: Same] -> [a: Same, of: I8] IN from x {commutes}
        "Wrapped product, and 1 if the signed product did not fit. Not for i128.";
    UaddOverflowCin uadd_overflow_cin Ternary [x: Same, y: Same, c_in: I8] -> [a: Same, c_out: I8] IB from y {}
        "As `uadd_overflow` of `x + y + (c_in != 0)`, taken as one sum of three terms.";
    SaddOverflowCin sadd_overflow_cin Ternary [x: Same, y: Same, c_in: I8] -> [a: Same, c_out: I8] IB from y {}
        "As `sadd_overflow` of `x + y + (c_in != 0)`. The two steps' overflow flags are or-ed.";
    UsubOverflowBin usub_overflow_bin Ternary [x: Same, y: Same, b_in: I8] -> [a: Same, b_out: I8] IB from y {}
        "As `usub_overflow` of `x - (y + (b_in != 0))`.";
    SsubOverflowBin ssub_overflow_bin Ternary [x: Same, y: Same, b_in: I8] -> [a: Same, b_out: I8] IB from y {}
        "As `ssub_overflow` of `x - (y + (b_in != 0))`. The two steps' overflow flags are \
         or-ed.";
    UaddOverflowTrap uadd_overflow_trap IntAddTrap [x: Same, y: Same] -> [a: Same] IAddr from x {trap_code mergeable}
        "Unsigned sum; traps with the given code if it does not fit. i32 and i64 only.";

    // Bit operations.
    Band band Binary [x: Same, y: Same] -> [a: Same] Any from x {commutes}
        "And. Floats and vectors are taken as bits.";
    Bor bor Binary [x: Same, y: Same] -> [a: Same] Any from x {commutes}
        "Or.";
    Bxor bxor Binary [x: Same, y: Same] -> [a: Same] Any from x {commutes}
        "Exclusive or.";
    Bnot bnot Unary [x: Same] -> [a: Same] Any from x {}
        "Every bit inverted.";
    Rotl rotl Binary [x: Same, y: IB] -> [a: Same] Int from x {}
        "Rotate each lane left; the amount counts modulo the lane width.";
    Rotr rotr Binary [x: Same, y: IB] -> [a: Same] Int from x {}
        "Rotate each lane right; the amount counts modulo the lane width.";
    Ishl ishl Binary [x: Same, y: IB] -> [a: Same] Int from x {}
        "Shift left, zeros come in. The amount is a scalar of any integer type, the same for \
         all lanes, and counts modulo the lane width.";
    Ushr ushr Binary [x: Same, y: IB] -> [a: Same] Int from x {}
        "Shift right, zeros come in; amount as in `ishl`.";
    Sshr sshr Binary [x: Same, y: IB] -> [a: Same] Int from x {}
        "Shift right, copies of the sign bit come in; amount as in `ishl`.";
    Bitrev bitrev Unary [x: Same] -> [a: Same] IB from x {}
        "Order of the bits reversed.";
    Clz clz Unary [x: Same] -> [a: Same] IB from x {}
        "Number of zero bits above the highest one; the width for 0.";
    Cls cls Unary [x: Same] -> [a: Same] IB from x {}
        "Number of bits below the sign bit that are equal to it, counted from the top; width - \
         1 for 0 and -1.";
    Ctz ctz Unary [x: Same] -> [a: Same] IB from x {}
        "Number of zero bits below the lowest one; the width for 0.";
    Bswap bswap Unary [x: Same] -> [a: Same] IW from x {}
        "Order of the bytes reversed.";
    Popcnt popcnt Unary [x: Same] -> [a: Same] Int from x {}
        "Number of one bits, in each lane.";

    // Integer conversions.
    Ireduce ireduce Unary [x: Wider] -> [a: Same] IB required {}
        "Keep the low bits. The suffix is the result type; the operand must be strictly wider.";
    Uextend uextend Unary [x: Narrower] -> [a: Same] IB required {}
        "Zero-extend to the suffix type. The operand must be strictly narrower.";
    Sextend sextend Unary [x: Narrower] -> [a: Same] IB required {}
        "Sign-extend to the suffix type. The operand must be strictly narrower.";
    Isplit isplit Unary [x: Same] -> [lo: HalfWidth, hi: HalfWidth] IW from x {}
        "Low half and high half of `x`.";
    Iconcat iconcat Binary [lo: Same, hi: Same] -> [a: DoubleWidth] IN from lo {}
        "`hi` in the high half, `lo` in the low half of the double-width result.";
    Bitcast bitcast LoadNoOffset [x: Mem] -> [a: Same] Mem required {}
        "The same bits as another type of the same total size. If the lane counts differ, \
         `little` or `big` must be given: the result is what storing and loading in that byte \
         order would give.";

    // Floating point.
    Fcmp fcmp FloatCompare [x: Same, y: Same] -> [a: Truthy] Float from x {}
        "Compare as the code says; result as in `icmp`. -0.0 equals 0.0.";
    Fadd fadd Binary [x: Same, y: Same] -> [a: Same] Float from x {}
        "Sum, rounded to nearest, ties to even.";
    Fsub fsub Binary [x: Same, y: Same] -> [a: Same] Float from x {}
        "Difference, rounded to nearest, ties to even.";
    Fmul fmul Binary [x: Same, y: Same] -> [a: Same] Float from x {}
        "Product, rounded to nearest, ties to even.";
    Fdiv fdiv Binary [x: Same, y: Same] -> [a: Same] Float from x {}
        "Quotient, rounded to nearest even; never traps (x/0 is an infinity, 0/0 a NaN).";
    Sqrt sqrt Unary [x: Same] -> [a: Same] Float from x {}
        "Square root; NaN for a negative operand other than -0.0.";
    Fma fma Ternary [x: Same, y: Same, z: Same] -> [a: Same] Float from y {}
        "`x * y + z` with a single rounding.";
    Fneg fneg Unary [x: Same] -> [a: Same] Float from x {}
        "Sign bit inverted; nothing else changes, also for NaN.";
    Fabs fabs Unary [x: Same] -> [a: Same] Float from x {}
        "Sign bit cleared; nothing else changes, also for NaN.";
    Fcopysign fcopysign Binary [x: Same, y: Same] -> [a: Same] Float from x {}
        "`x` with the sign bit of `y`; pure bit operation.";
    Fmin fmin Binary [x: Same, y: Same] -> [a: Same] Float from x {}
        "Smaller of the two; NaN if either is NaN; -0.0 is below 0.0.";
    Fmax fmax Binary [x: Same, y: Same] -> [a: Same] Float from x {}
        "Larger of the two; NaN if either is NaN; 0.0 is above -0.0.";
    Ceil ceil Unary [x: Same] -> [a: Same] Float from x {}
        "Round to an integral value upwards; keeps the sign of zero.";
    Floor floor Unary [x: Same] -> [a: Same] Float from x {}
        "Round to an integral value downwards; keeps the sign of zero.";
    Trunc trunc Unary [x: Same] -> [a: Same] Float from x {}
        "Round to an integral value towards zero; keeps the sign of zero.";
    Nearest nearest Unary [x: Same] -> [a: Same] Float from x {}
        "Round to the nearest integral value, ties to even; keeps the sign of zero.";

    // Floating-point conversions.
    Fpromote fpromote Unary [x: Narrower] -> [a: Same] FB required {}
        "Exact conversion to the wider suffix type.";
    Fdemote fdemote Unary [x: Wider] -> [a: Same] FB required {}
        "Conversion to the narrower suffix type, nearest even.";
    FvpromoteLow fvpromote_low Unary [a: F32x4] -> [x: F64x2] No none {}
        "The two low f32 lanes as f64 lanes.";
    Fvdemote fvdemote Unary [x: F64x2] -> [a: F32x4] No none {}
        "Each f64 lane to f32, nearest even, in the two low lanes; the two high lanes are 0.";
    FcvtToUint fcvt_to_uint Unary [x: FB] -> [a: Same] IB required {bad_toint int_ovf mergeable}
        "Truncate to an unsigned integer. Traps `bad_toint` for NaN and `int_ovf` if the \
         truncated value is out of range, so -0.9 becomes 0.";
    FcvtToSint fcvt_to_sint Unary [x: FB] -> [a: Same] IB required {bad_toint int_ovf mergeable}
        "Truncate to a signed integer. Traps `bad_toint` for NaN and `int_ovf` if the truncated \
         value is out of range.";
    FcvtToUintSat fcvt_to_uint_sat Unary [x: Float] -> [a: Same] IntV required {}
        "Truncate, clamp to the unsigned range; NaN becomes 0. Works lane by lane; lane counts \
         must agree.";
    FcvtToSintSat fcvt_to_sint_sat Unary [x: Float] -> [a: Same] IntV required {}
        "Truncate, clamp to the signed range; NaN becomes 0. Works lane by lane; lane counts must \
         agree.";
    FcvtFromUint fcvt_from_uint Unary [x: IntV] -> [a: Same] FloatV required {}
        "Unsigned integer to float, nearest even, lane by lane.";
    FcvtFromSint fcvt_from_sint Unary [x: IntV] -> [a: Same] FloatV required {}
        "Signed integer to float, nearest even, lane by lane.";
    X86Cvtt2dq x86_cvtt2dq Unary [x: Float] -> [a: Same] IntV required {}
        "Truncate each lane to a signed integer; NaN and out of range give the minimum integer.";

    // Vectors: lanes and shuffles.
    Splat splat Unary [x: Lane] -> [a: Same] TxN required {}
        "All lanes are `x`.";
    ScalarToVector scalar_to_vector Unary [s: Lane] -> [a: Same] TxNFixed required {}
        "Lane 0 is `s`, all other lanes are 0.";
    Insertlane insertlane TernaryImm8 [x: Same, y: Lane] -> [a: Same] TxN from x {}
        "`x` with lane number `Idx` replaced by `y`. The text order is vector, lane value, \
         index. The index must exist.";
    Extractlane extractlane BinaryImm8 [x: Same] -> [a: Lane] TxN from x {}
        "Lane number `Idx` of `x`; the index must exist.";
    ExtractVector extract_vector BinaryImm8 [x: Same] -> [a: FixedPart] Dynamic from x {}
        "The 128-bit part number `y` of a dynamic vector.";
    Shuffle shuffle Shuffle [a: I8x16, b: I8x16] -> [a: I8x16] No none {}
        "Byte i of the result is picked by byte i of the mask: 0 to 15 from `a`, 16 to 31 from \
         `b`. Other mask values are a verifier error.";
    Swizzle swizzle Binary [x: I8x16, y: I8x16] -> [a: I8x16] No none {}
        "Byte i is byte `y[i]` of `x`, or 0 if `y[i]` is above 15.";
    X86Pshufb x86_pshufb Binary [x: I8x16, y: I8x16] -> [a: I8x16] No none {}
        "Byte i is 0 if the top bit of `y[i]` is set, otherwise byte `y[i] mod 16` of `x`.";

    // Vectors: arithmetic and width.
    UaddSat uadd_sat Binary [x: Same, y: Same] -> [a: Same] IxN from x {commutes}
        "Sum clamped to the unsigned range, lane by lane.";
    SaddSat sadd_sat Binary [x: Same, y: Same] -> [a: Same] IxN from x {commutes}
        "Sum clamped to the signed range, lane by lane.";
    UsubSat usub_sat Binary [x: Same, y: Same] -> [a: Same] IxN from x {}
        "Difference clamped to the unsigned range, so at least 0, lane by lane.";
    SsubSat ssub_sat Binary [x: Same, y: Same] -> [a: Same] IxN from x {}
        "Difference clamped to the signed range, lane by lane.";
    AvgRound avg_round Binary [x: Same, y: Same] -> [a: Same] IxN from x {commutes}
        "`(x + y + 1) / 2` unsigned, without losing the carry, lane by lane.";
    IaddPairwise iadd_pairwise Binary [x: Same, y: Same] -> [a: Same] IxN8To32 from x {}
        "Wrapped sums of lanes 2i and 2i+1: first of `x`, then of `y`.";
    SqmulRoundSat sqmul_round_sat Binary [x: Same, y: Same] -> [a: Same] IxN16To32 from x {}
        "With B-bit lanes: `(x * y + 2^(B-2)) >> (B-1)` in full width, clamped to the signed \
         range.";
    X86Pmulhrsw x86_pmulhrsw Binary [x: Same, y: Same] -> [a: Same] IxN16To32 from x {}
        "As `sqmul_round_sat`, but minimum times minimum is the minimum instead of the \
         maximum.";
    X86Pmaddubsw x86_pmaddubsw Binary [x: I8x16, y: I8x16] -> [a: I16x8] No none {}
        "Signed bytes of `x` times unsigned bytes of `y`; neighboring products are added and \
         clamped to the signed 16-bit range.";
    Snarrow snarrow Binary [x: Same, y: Same] -> [a: HalfLanes] IxN16To64 from x {}
        "Lanes of `x` (low half) then `y` (high half), each clamped from signed to the signed \
         half-width range.";
    Unarrow unarrow Binary [x: Same, y: Same] -> [a: HalfLanes] IxN16To64 from x {}
        "As `snarrow`, clamped from signed to the unsigned half-width range; negatives become \
         0.";
    Uunarrow uunarrow Binary [x: Same, y: Same] -> [a: HalfLanes] IxN16To64 from x {}
        "As `snarrow`, the lanes taken as unsigned and clamped to the unsigned half-width \
         maximum.";
    SwidenLow swiden_low Unary [x: Same] -> [a: DoubleLanes] IxN8To32 from x {}
        "The low half of the lanes, each sign-extended to double width.";
    SwidenHigh swiden_high Unary [x: Same] -> [a: DoubleLanes] IxN8To32 from x {}
        "The high half of the lanes, each sign-extended to double width.";
    UwidenLow uwiden_low Unary [x: Same] -> [a: DoubleLanes] IxN8To32 from x {}
        "The low half of the lanes, each zero-extended to double width.";
    UwidenHigh uwiden_high Unary [x: Same] -> [a: DoubleLanes] IxN8To32 from x {}
        "The high half of the lanes, each zero-extended to double width.";
        }
    };
}
pub(crate) use opcode_table;

opcode_table!(opcodes);

/// Marker for a list in a table of operand counts. It is one more than the number of words, so that a remainder by it
/// is a valid number of words.
pub(crate) const ARGS_LIST: u8 = 4;

/// Returns the number of words of an instruction that are operand values, or [`ARGS_LIST`] for formats with an
/// operand list.
const fn inline_args(format: Format) -> u8 {
    match format {
        Format::Nullary
        | Format::UnaryImm
        | Format::UnaryIeee16
        | Format::UnaryIeee32
        | Format::UnaryIeee64
        | Format::UnaryConst
        | Format::Trap
        | Format::StackAddr
        | Format::DynamicStackAddr
        | Format::UnaryGlobalValue
        | Format::FuncAddr
        | Format::ExceptionHandlerAddress
        | Format::Jump => 0,
        Format::Unary
        | Format::BinaryImm8
        | Format::CondTrap
        | Format::Load
        | Format::LoadNoOffset
        | Format::Brif
        | Format::BranchTable => 1,
        Format::Binary
        | Format::TernaryImm8
        | Format::Shuffle
        | Format::IntCompare
        | Format::FloatCompare
        | Format::IntAddTrap
        | Format::Store
        | Format::StoreNoOffset
        | Format::AtomicRmw => 2,
        Format::Ternary | Format::AtomicCas => 3,
        Format::MultiAry | Format::Call | Format::CallIndirect | Format::TryCall | Format::TryCallIndirect => ARGS_LIST,
    }
}

/// Returns the name in the text: the name of the builder's method without the underscore that separates `return_`
/// from the keyword.
const fn text_name(method: &str) -> &str {
    let (name, last) = method.split_at(method.len() - 1);
    if equal(last.as_bytes(), b"_") { name } else { method }
}

/// Evaluates the suffix column of a row.
const fn suffix(kind: &str, operands: &[&str], from: &str) -> Suffix {
    match kind.as_bytes() {
        b"none" => Suffix::None,
        b"required" => Suffix::Required,
        _ => {
            let mut index = 0;
            while !equal(operands[index].as_bytes(), from.as_bytes()) {
                index += 1;
            }
            Suffix::From(index as u8)
        }
    }
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}

impl Opcode {
    /// Returns the row of the opcode.
    pub const fn info(self) -> &'static OpcodeInfo {
        &TABLE[self as usize]
    }

    /// Returns the name in the text.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Returns the shape of the opcode's instructions.
    pub const fn format(self) -> Format {
        FORMATS[self as usize]
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_consistent() {
        for &opcode in Opcode::ALL {
            let info = opcode.info();
            assert_eq!(opcode.is_polymorphic(), info.class != TypeClass::No, "{opcode}");
            match info.suffix {
                Suffix::None => {}
                Suffix::Required => assert_eq!(info.results[0], Constraint::Same, "{opcode}"),
                Suffix::From(index) => {
                    assert_eq!(info.operands[usize::from(index)], Constraint::Same, "{opcode}");
                }
            }
            assert!(!opcode.is_branch() || opcode.is_terminator(), "{opcode}");
        }
    }
}
