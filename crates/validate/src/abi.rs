//! Calling conventions, from the texts of the standards: "System V Application Binary Interface, AMD64 Architecture
//! Processor Supplement", section 3.2, and "Procedure Call Standard for the Arm 64-bit Architecture" (AAPCS64),
//! section 6.
//!
//! The compiler has its own tables. These share nothing with them.

use crate::error::Feature;
use crate::input::Machine;
use kingpost_ir::signature::{AbiParam, ArgumentExtension, ArgumentPurpose, CallConv, Signature};

/// Place of an argument or a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// A general register.
    General(usize),
    /// The low half of a vector register.
    Vector(usize),
    /// Memory, by its offset in bytes above the first stack argument.
    Stack(i64),
}

/// A value in a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Passed {
    pub(crate) place: Place,
    /// Number of bits of the value. They are the lowest of the place.
    pub(crate) width: u32,
    /// Extension of the value to 32 bits, which the convention of x86-64 requires of both sides in practice
    /// ("Clang relies on it"), and AAPCS64 forbids to rely on.
    pub(crate) extension: ArgumentExtension,
}

/// Places of the arguments and results of a signature.
#[derive(Clone, Debug)]
pub(crate) struct Convention {
    pub(crate) arguments: Vec<Passed>,
    pub(crate) results: Vec<Passed>,
    /// Number of bytes of stack arguments.
    pub(crate) stack_bytes: i64,
}

/// Numbers of rdi, rsi, rdx, rcx, r8, r9 (figure 3.4).
const X64_ARGUMENTS: [usize; 6] = [7, 6, 2, 1, 8, 9];
/// Numbers of rax and rdx (section 3.2.3, "Returning of Values").
const X64_RESULTS: [usize; 2] = [0, 2];
/// x0 to x7 (section 6.1.1).
const A64_GENERALS: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
/// xmm0 to xmm7, and v0 to v7.
const VECTORS: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
/// Numbers of rbx, rbp and r12 to r15 (figure 3.4).
const X64_SAVED: &[(usize, &str)] = &[(3, "rbx"), (5, "rbp"), (12, "r12"), (13, "r13"), (14, "r14"), (15, "r15")];
/// x19 to x29 (section 6.1.1).
const A64_SAVED: &[(usize, &str)] = &[
    (19, "x19"),
    (20, "x20"),
    (21, "x21"),
    (22, "x22"),
    (23, "x23"),
    (24, "x24"),
    (25, "x25"),
    (26, "x26"),
    (27, "x27"),
    (28, "x28"),
    (29, "x29"),
];
/// v8 to v15, whose low 64 bits are preserved (section 6.1.2).
const A64_SAVED_VECTORS: &[(usize, &str)] =
    &[(8, "d8"), (9, "d9"), (10, "d10"), (11, "d11"), (12, "d12"), (13, "d13"), (14, "d14"), (15, "d15")];

/// Returns the general registers that a function preserves, with their names. The stack pointer is not among them.
pub(crate) fn saved_generals(machine: Machine) -> &'static [(usize, &'static str)] {
    match machine {
        Machine::X64 => X64_SAVED,
        Machine::Aarch64 => A64_SAVED,
    }
}

/// Returns the vector registers whose low half a function preserves, with their names.
pub(crate) fn saved_vectors(machine: Machine) -> &'static [(usize, &'static str)] {
    match machine {
        Machine::X64 => &[],
        Machine::Aarch64 => A64_SAVED_VECTORS,
    }
}

/// Returns the places of a signature's arguments and results.
///
/// # Errors
/// If the convention or a part of the signature has no known meaning.
pub(crate) fn convention(machine: Machine, signature: &Signature) -> Result<Convention, Feature> {
    let refuse = |what| Err(Feature::Signature(what));
    match (signature.call_conv, machine) {
        (CallConv::SystemV | CallConv::Fast, _) => {}
        (conv, _) => return refuse(conv.name()),
    }
    if signature.variadic.is_some() {
        return refuse("a variadic parameter");
    }
    let (arguments, results): (&[usize], &[usize]) = match machine {
        Machine::X64 => (&X64_ARGUMENTS, &X64_RESULTS),
        Machine::Aarch64 => (&A64_GENERALS, &A64_GENERALS),
    };
    let result_vectors = match machine {
        Machine::X64 => &VECTORS[..2],
        Machine::Aarch64 => &VECTORS,
    };
    let mut places = Places { machine, generals: arguments, vectors: &VECTORS, bytes: 0 };
    let arguments = signature.params.iter().map(|param| places.pass(param)).collect::<Result<_, _>>()?;
    let stack_bytes = places.bytes;
    let mut places = Places { machine, generals: results, vectors: result_vectors, bytes: 0 };
    let results = signature.returns.iter().map(|result| places.pass(result)).collect::<Result<_, _>>()?;
    if places.bytes > 0 {
        return refuse("a result in memory");
    }
    Ok(Convention { arguments, results, stack_bytes })
}

/// Registers and memory that are not assigned yet.
struct Places<'a> {
    machine: Machine,
    generals: &'a [usize],
    vectors: &'a [usize],
    bytes: i64,
}

impl Places<'_> {
    fn pass(&mut self, param: &AbiParam) -> Result<Passed, Feature> {
        let ty = param.value_type;
        match param.purpose {
            ArgumentPurpose::Normal | ArgumentPurpose::VmContext => {}
            ArgumentPurpose::StructReturn => return Err(Feature::Signature("sret")),
            ArgumentPurpose::StructArgument(_) => return Err(Feature::Signature("a structure")),
        }
        if !ty.is_scalar() || ty.bits() > 64 {
            return Err(Feature::Type(ty));
        }
        let registers = if ty.is_int() { &mut self.generals } else { &mut self.vectors };
        let place = match registers.split_first() {
            Some((&register, rest)) => {
                *registers = rest;
                if ty.is_int() { Place::General(register) } else { Place::Vector(register) }
            }
            // Eight bytes each (section 3.2.3, "Passing"; AAPCS64, rules C.14 and C.16).
            None => {
                self.bytes += 8;
                Place::Stack(self.bytes - 8)
            }
        };
        let extension = match self.machine {
            Machine::X64 => param.extension,
            Machine::Aarch64 => ArgumentExtension::None,
        };
        Ok(Passed { place, width: ty.bits(), extension })
    }
}
