//! Calling conventions, from the texts of the standards: "System V Application Binary Interface, AMD64 Architecture
//! Processor Supplement", section 3.2, and "Procedure Call Standard for the Arm 64-bit Architecture" (AAPCS64),
//! section 6.
//!
//! The conventions `fast` and `tail` are the ones of the IR: `fast` is as the standards say, and `tail` has other
//! registers, and its callees remove their stack arguments.
//!
//! The compiler has its own tables. These share nothing with them.

use crate::error::Feature;
use crate::input::{Code, Machine};
use kingpost_ir::signature::{AbiParam, ArgumentExtension, ArgumentPurpose, CallConv, Signature};
use kingpost_ir::types::I128;

/// Place of an argument or a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// A general register.
    General(usize),
    /// The low half of a vector register.
    Vector(usize),
    /// The high half of a vector register.
    VectorHigh(usize),
    /// Memory, by its offset in bytes from the first stack argument, or in the area of results.
    Stack(i64),
}

/// A value in a place, or a half of 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Passed {
    pub(crate) place: Place,
    /// Number of the argument or result.
    pub(crate) number: usize,
    /// Lowest bit of the value that is in the place.
    pub(crate) low: u32,
    /// Number of bits of the value in the place. They are the lowest of the place.
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
    /// Number of bytes of stack arguments that the callee removes.
    pub(crate) popped: i64,
    /// The general register with the address of the area of results in memory, and its size in bytes.
    pub(crate) area: Option<(usize, i64)>,
}

/// Numbers of rdi, rsi, rdx, rcx, r8, r9 (figure 3.4).
const X64_ARGUMENTS: [usize; 6] = [7, 6, 2, 1, 8, 9];
/// Numbers of rax and rdx (section 3.2.3, "Returning of Values").
const X64_RESULTS: [usize; 2] = [0, 2];
/// Numbers of rax, rdx and rcx: LLVM returns a third integer in a register.
const X64_LLVM_RESULTS: [usize; 3] = [0, 2, 1];
/// Numbers of rax, rcx, rdx, rsi, rdi, r8, r9, r10: the results of the convention `tail`.
const X64_TAIL_RESULTS: [usize; 8] = [0, 1, 2, 6, 7, 8, 9, 10];
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
pub(crate) fn convention(code: &Code<'_>, signature: &Signature) -> Result<Convention, Feature> {
    let machine = code.machine;
    let refuse = |what| Err(Feature::Signature(what));
    match (signature.call_conv, machine) {
        (CallConv::SystemV | CallConv::Fast | CallConv::Tail, _) => {}
        (conv, _) => return refuse(conv.name()),
    }
    if signature.variadic.is_some() {
        return refuse("a variadic parameter");
    }
    let is_tail = signature.call_conv == CallConv::Tail;
    let (arguments, results): (&[usize], &[usize]) = match machine {
        Machine::X64 if is_tail => (&X64_ARGUMENTS, &X64_TAIL_RESULTS),
        Machine::X64 if code.llvm_results => (&X64_ARGUMENTS, &X64_LLVM_RESULTS),
        Machine::X64 => (&X64_ARGUMENTS, &X64_RESULTS),
        // The convention `tail` leaves x0 and x1 out.
        Machine::Aarch64 if is_tail => (&A64_GENERALS[2..], &A64_GENERALS[2..]),
        Machine::Aarch64 => (&A64_GENERALS, &A64_GENERALS),
    };
    let result_vectors = match machine {
        Machine::X64 if !is_tail => &VECTORS[..2],
        _ => &VECTORS,
    };
    let splits = signature.call_conv != CallConv::SystemV;
    let mut places = Places { machine, splits, generals: results, vectors: result_vectors, bytes: 0 };
    let results = places.pass_all(&signature.returns)?;
    let area_bytes = (places.bytes + 15) & !15;
    let mut places = Places { machine, splits, generals: arguments, vectors: &VECTORS, bytes: 0 };
    // The address is a hidden first argument (section 3.2.3, "Returning of Values"), or in x8 (section 6.9).
    let area = (area_bytes > 0).then(|| match machine {
        Machine::X64 => {
            places.generals = &arguments[1..];
            (arguments[0], area_bytes)
        }
        Machine::Aarch64 => (8, area_bytes),
    });
    let arguments = places.pass_all(&signature.params)?;
    // What a callee removes is aligned, and belongs to it.
    let stack_bytes = if is_tail { (places.bytes + 15) & !15 } else { places.bytes };
    let popped = if is_tail { stack_bytes } else { 0 };
    Ok(Convention { arguments, results, stack_bytes, popped, area })
}

/// Registers and memory that are not assigned yet.
struct Places<'a> {
    machine: Machine,
    /// Whether x86-64 passes the halves of an `i128` as two values, as the conventions `fast` and `tail` do.
    splits: bool,
    generals: &'a [usize],
    vectors: &'a [usize],
    bytes: i64,
}

impl Places<'_> {
    fn pass_all(&mut self, params: &[AbiParam]) -> Result<Vec<Passed>, Feature> {
        let mut all = Vec::new();
        for (number, param) in params.iter().enumerate() {
            match param.purpose {
                ArgumentPurpose::Normal | ArgumentPurpose::VmContext => {}
                ArgumentPurpose::StructReturn => return Err(Feature::Signature("sret")),
                ArgumentPurpose::VariadicList => return Err(Feature::Signature("a list of variadic arguments")),
                ArgumentPurpose::StructArgument(_) => return Err(Feature::Signature("a structure")),
            }
            let ty = param.value_type;
            let extension = match self.machine {
                Machine::X64 => param.extension,
                Machine::Aarch64 => ArgumentExtension::None,
            };
            if ty == I128 {
                let halves = self.pair().into_iter().zip([0, 64]);
                all.extend(halves.map(|(place, low)| Passed { place, number, low, width: 64, extension }));
            } else if ty.is_vector() && ty.bits() == 128 {
                let halves = self.vector().into_iter().zip([0, 64]);
                all.extend(halves.map(|(place, low)| Passed { place, number, low, width: 64, extension }));
            } else if (ty.is_scalar() || ty.is_vector()) && ty.bits() <= 64 {
                all.push(Passed { place: self.place(ty.is_int()), number, low: 0, width: ty.bits(), extension });
            } else {
                return Err(Feature::Type(ty));
            }
        }
        Ok(all)
    }

    /// Returns the places of the halves of an `i128`: two registers, or memory. On x86-64, a register that is left is for
    /// later arguments (section 3.2.3, "the assignments get reverted"). On AArch64, the first register has an even number
    /// (rule C.10), and no later argument has a register (rule C.13).
    fn pair(&mut self) -> [Place; 2] {
        let is_even = self.generals.len().is_multiple_of(2);
        let left = match self.machine {
            Machine::X64 if self.splits || self.generals.len() >= 2 => return [self.place(true), self.place(true)],
            Machine::X64 => std::mem::take(&mut self.generals),
            Machine::Aarch64 => {
                let skipped = self.generals.len().min(usize::from(!is_even));
                self.generals = &self.generals[skipped..];
                if !self.generals.is_empty() {
                    return [self.place(true), self.place(true)];
                }
                &[]
            }
        };
        self.bytes = (self.bytes + 15) & !15;
        let places = [self.place(true), self.place(true)];
        self.generals = left;
        places
    }

    /// Returns the places of the halves of a vector of 128 bits: a register, or memory, aligned to 16 bytes (section 3.2.3,
    /// "Passing"; AAPCS64, rules C.2 and C.4).
    fn vector(&mut self) -> [Place; 2] {
        if let Some((&register, rest)) = self.vectors.split_first() {
            self.vectors = rest;
            return [Place::Vector(register), Place::VectorHigh(register)];
        }
        self.bytes = (self.bytes + 31) & !15;
        [Place::Stack(self.bytes - 16), Place::Stack(self.bytes - 8)]
    }

    fn place(&mut self, is_int: bool) -> Place {
        let registers = if is_int { &mut self.generals } else { &mut self.vectors };
        match registers.split_first() {
            Some((&register, rest)) => {
                *registers = rest;
                if is_int { Place::General(register) } else { Place::Vector(register) }
            }
            // Eight bytes each (section 3.2.3, "Passing"; AAPCS64, rules C.14 and C.16).
            None => {
                self.bytes += 8;
                Place::Stack(self.bytes - 8)
            }
        }
    }
}
