//! Proofs of the transfer functions of known bits. On terms of every width, and for all known bits of the operands,
//! the known bits that they return hold for the result, by the meanings of opcodes.

use kingpost_ir::types::{I8, I16, I32, I64, I128};
use kingpost_ir::{Opcode, Type};
use kingpost_opt::known_bits::{Known, Word};
use kingpost_semantics::{Immediate, Operand, Operation, outcome};
use kingpost_smt::{Answer, Backend, Bits, Query, Solver, Sort, Term, Terms};
use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, BitXor, Not};
use std::rc::Rc;
use std::time::Duration;

/// A term with its arena.
#[derive(Clone)]
struct Symbol {
    terms: Rc<RefCell<Terms>>,
    term: Term,
}

impl Symbol {
    fn with(&self, make: impl FnOnce(&mut Terms) -> Term) -> Symbol {
        let term = make(&mut self.terms.borrow_mut());
        Symbol { terms: Rc::clone(&self.terms), term }
    }

    fn width(&self) -> u32 {
        self.terms.borrow().width(self.term)
    }
}

macro_rules! operators {
    ($($name:ident $method:ident $op:ident),*) => {$(
        impl $name for Symbol {
            type Output = Symbol;

            fn $method(self, other: Symbol) -> Symbol {
                self.with(|terms| terms.$op(self.term, other.term))
            }
        }
    )*};
}

operators!(Add add add, BitAnd bitand bit_and, BitOr bitor bit_or, BitXor bitxor bit_xor);

impl Not for Symbol {
    type Output = Symbol;

    fn not(self) -> Symbol {
        self.with(|terms| terms.bit_not(self.term))
    }
}

impl Word for Symbol {
    fn ones(&self) -> Symbol {
        self.with(|terms| terms.constant(Bits::ones(terms.width(self.term))))
    }

    fn shift_left(self, by: Symbol) -> Symbol {
        self.with(|terms| terms.shl(self.term, by.term))
    }

    fn shift_right(self, by: Symbol) -> Symbol {
        self.with(|terms| terms.lshr(self.term, by.term))
    }

    fn shift_right_signed(self, by: Symbol) -> Symbol {
        self.with(|terms| terms.ashr(self.term, by.term))
    }

    fn resize(self, width: u32) -> Symbol {
        let from = self.width();
        self.with(
            |terms| {
                if width < from { terms.extract(self.term, 0, width) } else { terms.zero_extend(self.term, width) }
            },
        )
    }

    fn sign_extend(self, width: u32) -> Symbol {
        self.with(|terms| terms.sign_extend(self.term, width))
    }
}

/// Claim about the known bits of the result of an opcode at a type, for operands of these types.
struct Claim {
    opcode: Opcode,
    ty: Type,
    operands: Vec<Type>,
}

/// Returns the known bits of the result, by the transfer function. The last operand of a shift is its amount.
fn transfer(claim: &Claim, known: &[Known<Symbol>], amount: &Symbol) -> Known<Symbol> {
    let arg = |index: usize| known[index].clone();
    let width = claim.ty.bits();
    match claim.opcode {
        Opcode::Band => arg(0).and(arg(1)),
        Opcode::Bor => arg(0).or(arg(1)),
        Opcode::Bxor => arg(0).xor(arg(1)),
        Opcode::Bnot => arg(0).complement(),
        Opcode::Iadd => arg(0).sum(arg(1)),
        Opcode::Smin | Opcode::Smax | Opcode::Umin | Opcode::Umax => arg(0).either(arg(1)),
        Opcode::Select => arg(1).either(arg(2)),
        Opcode::Ishl => arg(0).shift_left(amount.clone()),
        Opcode::Ushr => arg(0).shift_right(amount.clone()),
        Opcode::Sshr => arg(0).shift_right_signed(amount.clone()),
        Opcode::Uextend => arg(0).zero_extend(width),
        Opcode::Sextend => arg(0).sign_extend(width),
        Opcode::Ireduce => arg(0).reduce(width),
        other => panic!("{other}"),
    }
}

/// Returns a term that is true if known bits hold for a value.
fn holds(known: &Known<Symbol>, value: &Symbol) -> Symbol {
    let wrong = known.zeros.clone() & value.clone() | known.ones.clone() & !value.clone();
    wrong.with(|terms| {
        let zero = terms.number(terms.width(wrong.term), 0);
        terms.eq(wrong.term, zero)
    })
}

/// Time limit of a proof. Most take less than a second; the machine may do other things as well.
const LIMIT: Duration = Duration::from_secs(900);

/// Returns `true` if a solver proves a claim.
fn is_proved(
    solver: &mut Solver,
    claim: &Claim,
    transfer: impl Fn(&Claim, &[Known<Symbol>], &Symbol) -> Known<Symbol>,
) -> bool {
    let arena = Rc::new(RefCell::new(Terms::new()));
    let variable = |name: String, width: u32| {
        let term = arena.borrow_mut().var(&name, Sort::Bits(width));
        Symbol { terms: Rc::clone(&arena), term }
    };
    let values: Vec<Symbol> =
        claim.operands.iter().enumerate().map(|(index, ty)| variable(format!("x{index}"), ty.bits())).collect();
    let known: Vec<Known<Symbol>> = (0..)
        .zip(&values)
        .map(|(index, value)| {
            let [zeros, ones] = ["zeros", "ones"].map(|name| variable(format!("{name}{index}"), value.width()));
            Known { zeros, ones }
        })
        .collect();
    let operands: Vec<Operand> =
        claim.operands.iter().zip(&values).map(|(&ty, value)| Operand { ty, bits: value.term }).collect();
    let operation = Operation { opcode: claim.opcode, ty: claim.ty, immediate: Immediate::None };
    let result = outcome(&mut arena.borrow_mut(), &operation, &operands).expect("a meaning").results[0];
    let result = Symbol { terms: Rc::clone(&arena), term: result };
    let amount = values[values.len() - 1].clone();
    let width = amount.width();
    let limit = amount.with(|terms| terms.number(width, u128::from(width - 1)));
    let amount = amount & limit;
    let claimed = holds(&transfer(claim, &known, &amount), &result);
    let assumed: Vec<Term> = known.iter().zip(&values).map(|(known, value)| holds(known, value).term).collect();
    let mut terms = arena.borrow_mut();
    let (assumed, fails) = (terms.all(assumed), terms.not(claimed.term));
    let formula = terms.and(assumed, fails);
    solver.check(&terms, &Query::new(formula), LIMIT).expect("the solver answers") == Answer::Unsat
}

const INTS: [Type; 5] = [I8, I16, I32, I64, I128];

/// Returns the claims of all types if `KINGPOST_EVERY` is set, otherwise of types of at most 32 bits: the proofs of
/// wider types take most of the time.
fn claims() -> Vec<Claim> {
    let widest = if std::env::var_os("KINGPOST_EVERY").is_some() { 128 } else { 32 };
    let ints = || INTS.into_iter().filter(|ty| ty.bits() <= widest);
    let mut claims = Vec::new();
    for ty in ints() {
        let mut claim = |opcode, operands: &[Type]| claims.push(Claim { opcode, ty, operands: operands.to_vec() });
        use Opcode::{Band, Bnot, Bor, Bxor, Iadd, Ishl, Select, Smax, Smin, Sshr, Umax, Umin, Ushr};
        for opcode in [Band, Bor, Bxor, Iadd, Smin, Smax, Umin, Umax, Ishl, Ushr, Sshr] {
            claim(opcode, &[ty, ty]);
        }
        claim(Bnot, &[ty]);
        claim(Select, &[I8, ty, ty]);
        for other in ints() {
            if other.bits() < ty.bits() {
                claim(Opcode::Uextend, &[other]);
                claim(Opcode::Sextend, &[other]);
            } else if other.bits() > ty.bits() {
                claim(Opcode::Ireduce, &[other]);
            }
        }
    }
    claims
}

fn solver() -> Option<Solver> {
    if Backend::Z3.is_installed() {
        return Some(Solver::new(Backend::Z3));
    }
    assert!(std::env::var_os("CI").is_none(), "z3 is missing");
    eprintln!("SKIPPED: z3 is not installed");
    None
}

#[test]
fn transfer_functions_are_proved() {
    let Some(mut solver) = solver() else { return };
    for claim in claims() {
        let Claim { opcode, ty, operands } = &claim;
        assert!(is_proved(&mut solver, &claim, transfer), "{opcode}.{ty} of {operands:?}");
    }
}

#[test]
fn wrong_transfer_functions_are_refused() {
    let Some(mut solver) = solver() else { return };
    for claim in claims() {
        let Claim { opcode, ty, operands } = &claim;
        let wrong = |claim: &Claim, known: &[Known<Symbol>], amount: &Symbol| {
            let known = transfer(claim, known, amount);
            let one = known.zeros.with(|terms| terms.number(terms.width(known.zeros.term), 1));
            Known { zeros: known.zeros ^ one, ones: known.ones }
        };
        assert!(!is_proved(&mut solver, &claim, wrong), "{opcode}.{ty} of {operands:?}");
    }
}
