//! Memory: bytes by address, little-endian.
//!
//! There is no theory of arrays. A state consists of the initial memory and the writes since. A read is a chain of
//! choices over the writes that ends in a variable for the initial byte. Reads of the initial memory at equal
//! addresses are equal, because each read compares its address with the addresses of all reads before it.
//!
//! Initial bytes are one memory for both templates, except in allocated blocks, in which each template has
//! undefined bytes of its own. The initial contents of two different addresses are unrelated.

use crate::encoder::Encoder;
use crate::memory_state::{Access, Memory, Range, Reads, State, StateDef, UndefSite};
use crate::outcome::Outcome;
use crate::template::Template;
use kingpost_rules::types::Type;
use kingpost_rules::{ErrorKind, Position, RuleError};
use kingpost_smt::{Bits, Sort, Term};

/// Maximum number of reads. Each costs a comparison with all reads before it.
const MAX_READS: usize = 2000;
/// Number of elements in the block that an input points to.
const INPUT_ELEMENTS: u64 = 7;
/// Maximum number of elements in a block if that number is not constant.
const MAX_COUNT: u128 = 16;

impl Encoder<'_> {
    /// Returns the blocks of the current template.
    fn ranges(&mut self) -> &mut Vec<Range> {
        let template = self.template();
        &mut self.memory.blocks[template as usize].ranges
    }

    fn address(&mut self, base: Term, offset: u64) -> Term {
        let offset = self.terms.number(self.typing.pointer_bits(), u128::from(offset));
        self.terms.add(base, offset)
    }

    /// Adds a block of its own for a pointer that comes from outside.
    pub(crate) fn outside_pointer(&mut self, pointer: Term) {
        let bytes = INPUT_ELEMENTS * u64::from(self.typing.pointer_bits() / 8);
        let size = self.terms.number(self.typing.pointer_bits(), u128::from(bytes));
        self.ranges().push(Range { base: pointer, size, allocated: false });
    }

    /// Returns the address of a new block of `count` elements. `register` names the address in both templates.
    pub(crate) fn allocate(
        &mut self,
        register: &str,
        element: &Type,
        count: Option<Outcome>,
        align: Option<u64>,
    ) -> Outcome {
        self.memory.used = true;
        let bits = self.typing.pointer_bits();
        let element = crate::template::bytes(element, bits);
        let size = match count {
            None => self.terms.number(bits, u128::from(element)),
            Some(count) => self.block_size(element, count.value),
        };
        let operands: Vec<Outcome> = count.into_iter().collect();
        if count.and_then(|count| self.terms.bits(count.value)).is_some_and(Bits::is_zero) {
            let anywhere = self.undef(bits);
            return Outcome::of(self.terms, anywhere, &operands);
        }
        let base = self.terms.var(&format!("%{register}"), Sort::Bits(bits));
        let range = Range { base, size, allocated: true };
        self.place(range, align.unwrap_or_else(|| element.next_power_of_two().min(8)));
        self.ranges().push(range);
        Outcome::of(self.terms, base, &operands)
    }

    fn block_size(&mut self, element: u64, count: Term) -> Term {
        let bits = self.typing.pointer_bits();
        let width = self.terms.width(count);
        if self.terms.bits(count).is_none() {
            let (one, most) = (self.terms.number(width, 1), self.terms.number(width, MAX_COUNT));
            let some = self.terms.ule(one, count);
            self.facts.push(some);
            if width > 4 {
                let few = self.terms.ule(count, most);
                self.facts.push(few);
            }
        }
        let count =
            if width <= bits { self.terms.zero_extend(count, bits) } else { self.terms.extract(count, 0, bits) };
        let element = self.terms.number(bits, u128::from(element));
        self.terms.mul(count, element)
    }

    /// Adds the facts about the place of a block: it is not at zero, is aligned, does not wrap around the end of
    /// memory, and overlaps no other block of its template.
    fn place(&mut self, range: Range, align: u64) {
        let bits = self.typing.pointer_bits();
        let zero = self.terms.number(bits, 0);
        let somewhere = self.terms.ne(range.base, zero);
        let mask = self.terms.number(bits, u128::from(align - 1));
        let low = self.terms.bit_and(range.base, mask);
        let aligned = self.terms.eq(low, zero);
        let room = self.terms.neg(range.size);
        let inside = self.terms.ule(range.base, room);
        self.facts.extend([somewhere, aligned, inside]);
        for other in self.ranges().clone() {
            let before = self.within(other.base, range);
            let behind = self.within(range.base, other);
            let overlap = self.terms.or(before, behind);
            let apart = self.terms.not(overlap);
            self.facts.push(apart);
        }
    }

    /// Returns a term that holds if an address is in a block.
    fn within(&mut self, address: Term, range: Range) -> Term {
        let offset = self.terms.sub(address, range.base);
        self.terms.ult(offset, range.size)
    }

    /// Returns a term that holds if an access is no undefined behavior: it is not at zero, aligned as promised, and
    /// entirely within a block.
    fn access_defined(&mut self, pointer: Term, access: Access) -> Term {
        let bits = self.typing.pointer_bits();
        let zero = self.terms.number(bits, 0);
        let size = self.terms.number(bits, u128::from(access.bytes()));
        let mut inside = self.terms.bool(false);
        for range in self.ranges().clone() {
            let fits = self.terms.ule(size, range.size);
            let offset = self.terms.sub(pointer, range.base);
            let room = self.terms.sub(range.size, size);
            let within = self.terms.ule(offset, room);
            let this = self.terms.and(fits, within);
            inside = self.terms.or(inside, this);
        }
        let somewhere = self.terms.ne(pointer, zero);
        let mut defined = self.terms.and(inside, somewhere);
        if let Some(align) = access.align {
            let mask = self.terms.number(bits, u128::from(align - 1));
            let low = self.terms.bit_and(pointer, mask);
            let aligned = self.terms.eq(low, zero);
            defined = self.terms.and(defined, aligned);
        }
        defined
    }

    /// Returns the outcome of a load. Its definedness must be added to all instructions after it.
    pub(crate) fn load(&mut self, state: State, pointer: Outcome, access: Access) -> Result<Outcome, RuleError> {
        self.memory.used = true;
        let value = self.read_value(self.template(), state, pointer.value, access)?;
        let defined = self.access_defined(pointer.value, access);
        let mut outcome = Outcome::of(self.terms, value, &[pointer]);
        outcome.defined = self.terms.and(outcome.defined, defined);
        Ok(outcome)
    }

    /// Returns the value at an address.
    fn read_value(&mut self, of: Template, state: State, pointer: Term, access: Access) -> Result<Term, RuleError> {
        let mut value: Option<Term> = None;
        for index in 0..access.bytes() {
            let address = self.address(pointer, u64::from(index));
            let byte = self.read(of, state, address, access.at)?;
            let (_, count) = access.slice(index);
            let part = self.terms.extract(byte, 0, count);
            value = Some(match value {
                None => part,
                Some(low) => self.terms.concat(part, low),
            });
        }
        value.ok_or_else(|| RuleError::new(ErrorKind::Type, access.at, "an access to nothing"))
    }

    /// Returns a term that holds if a store is no undefined behavior.
    pub(crate) fn store_defined(&mut self, value: Outcome, pointer: Outcome, access: Access) -> Term {
        let own = self.access_defined(pointer.value, access);
        self.terms.all([value.defined, pointer.defined, own])
    }

    /// Returns the state after a store that is executed under a condition.
    pub(crate) fn store(
        &mut self,
        state: State,
        condition: Term,
        value: Term,
        pointer: Term,
        access: Access,
    ) -> Result<State, RuleError> {
        self.memory.used = true;
        let mut after = state;
        for index in 0..access.bytes() {
            let address = self.address(pointer, u64::from(index));
            let (low, count) = access.slice(index);
            let mut byte = self.terms.extract(value, low, count);
            if count < 8 {
                let old = self.read(self.template(), state, address, access.at)?;
                let kept = self.terms.extract(old, count, 8 - count);
                byte = self.terms.concat(kept, byte);
            }
            after = self.memory.push(StateDef::Write { before: after, condition, address, byte });
        }
        Ok(after)
    }

    /// Returns the byte at an address, in a state of the template `of`.
    pub(crate) fn read(&mut self, of: Template, state: State, address: Term, at: Position) -> Result<Term, RuleError> {
        self.memory.reads += 1;
        if self.memory.reads > MAX_READS {
            return Err(RuleError::new(ErrorKind::Unsupported, at, format!("more than {MAX_READS} reads of memory")));
        }
        let mut writes = Vec::new();
        let mut next = state;
        let mut byte = loop {
            match self.memory.steps[next.0] {
                StateDef::Initial => break self.initial(of, address),
                StateDef::Write { before, condition, address: written, byte } => {
                    let same = self.terms.eq(written, address);
                    writes.push((self.terms.and(condition, same), byte));
                    next = before;
                }
                // The recursion is as deep as blocks join, and the reads are counted.
                StateDef::Choice { condition, then, otherwise } => {
                    let (then, otherwise) = (self.read(of, then, address, at)?, self.read(of, otherwise, address, at)?);
                    break self.terms.ite(condition, then, otherwise);
                }
            }
        };
        for (written, new) in writes.into_iter().rev() {
            byte = self.terms.ite(written, new, byte);
        }
        Ok(byte)
    }

    /// Returns the byte at an address before the first instruction.
    fn initial(&mut self, of: Template, address: Term) -> Term {
        let mut allocated = self.terms.bool(false);
        for range in self.memory.blocks[of as usize].ranges.clone().into_iter().filter(|range| range.allocated) {
            let within = self.within(address, range);
            allocated = self.terms.or(allocated, within);
        }
        let mut reads = std::mem::take(&mut self.memory.shared);
        let shared = self.first_byte(&mut reads, address);
        self.memory.shared = reads;
        let own = self.own_byte(of, address);
        self.terms.ite(allocated, own, shared)
    }

    /// Returns the undefined byte at an address of a new block.
    fn own_byte(&mut self, of: Template, address: Term) -> Term {
        let contents = |memory: &mut Memory| std::mem::take(&mut memory.blocks[of as usize].contents);
        let mut reads = contents(&mut self.memory);
        let byte = self.first_byte(&mut reads, address);
        if of == Template::Source {
            let variable = self.terms.var(&format!("{}.{}", reads.prefix, reads.reads.len() - 1), Sort::Bits(8));
            self.memory.placed.push((variable, UndefSite::Byte(address)));
        }
        self.memory.blocks[of as usize].contents = reads;
        byte
    }

    /// Records that an undefined value of the source is stored.
    pub(crate) fn undef_is_stored(&mut self, value: Term, pointer: Term, access: Access) {
        if self.template() == Template::Source {
            self.memory.placed.push((value, UndefSite::Stored(pointer, access)));
        }
    }

    /// Returns, for each undefined value of the source in memory, the value that the target has in its place at the
    /// end. This choice explains the target's memory, so it is tried first.
    pub(crate) fn explanations(&mut self, end: State, at: Position) -> Result<Vec<(Term, Term)>, RuleError> {
        let mut explanations = Vec::new();
        for (value, place) in self.memory.placed.clone() {
            let there = match place {
                UndefSite::Byte(address) => self.read(Template::Target, end, address, at)?,
                UndefSite::Stored(pointer, access) => self.read_value(Template::Target, end, pointer, access)?,
            };
            explanations.push((value, there));
        }
        Ok(explanations)
    }

    /// Returns the byte at an address: a variable, unless an earlier read was at an equal address.
    fn first_byte(&mut self, reads: &mut Reads, address: Term) -> Term {
        let name = format!("{}.{}", reads.prefix, reads.reads.len());
        let mut byte = self.terms.var(&name, Sort::Bits(8));
        for &(other, value) in reads.reads.iter().rev() {
            let same = self.terms.eq(address, other);
            byte = self.terms.ite(same, value, byte);
        }
        reads.reads.push((address, byte));
        byte
    }

    /// Returns a term that holds if the contents of an address at the end do not matter. The address is then in a
    /// block that only one template allocated, or in one of the blocks in `unobserved`, each given by its first
    /// byte and a condition.
    pub(crate) fn is_private(&mut self, address: Term, unobserved: &[(Term, Term)]) -> Term {
        let [source, target] = [0, 1].map(|template| self.memory.blocks[template].ranges.clone());
        let mut private = self.terms.bool(false);
        for (own, others) in [(&source, &target), (&target, &source)] {
            for range in own.iter().filter(|range| range.allocated) {
                let within = self.within(address, *range);
                let is_shared = others.iter().any(|other| other.allocated && other.base == range.base);
                let condition = match unobserved.iter().find(|&&(base, _)| base == range.base) {
                    _ if !is_shared => self.terms.bool(true),
                    Some(&(_, condition)) => condition,
                    None => continue,
                };
                let here = self.terms.and(within, condition);
                private = self.terms.or(private, here);
            }
        }
        private
    }
}
