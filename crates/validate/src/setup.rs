//! The state of a proof before the first path: meaning, convention, tables, and cut points.

use crate::abi::{self, Place as Passing};
use crate::addresses;
use crate::checked::Checked;
use crate::clif::{Addresses, BlockMeaning, Exit, Meaning, parts};
use crate::equal::Judge;
use crate::error::{Fault, Feature};
use crate::frame::Frame;
use crate::input::Code;
use crate::live;
use crate::path::Surroundings;
use crate::prove::{Effort, Proof, Site, Stopped};
use crate::symbols::symbols;
use crate::translate;
use cranelift_entity::SecondaryMap;
use kingpost_ir::{Block, Function};
use kingpost_smt::{Sort, Term, Terms};

/// Returns `true` if an edge leads to the entry block.
fn has_edge_to_entry(meaning: &Meaning) -> bool {
    let entry = meaning.order.first();
    let mut exits = meaning.order.iter().filter_map(|&block| meaning.blocks[block].as_ref().map(|block| &block.exit));
    exits.any(|exit| match exit {
        Exit::Jump(edge) => Some(&edge.block) == entry,
        Exit::Branch { then, otherwise, .. } => [then, otherwise].iter().any(|edge| Some(&edge.block) == entry),
        Exit::Table { entries, default, .. } => entries.iter().chain([default]).any(|edge| Some(&edge.block) == entry),
        Exit::Try { normal, catches, .. } => {
            catches.iter().map(|catch| &catch.edge).chain([normal]).any(|edge| Some(&edge.block) == entry)
        }
        Exit::Return(_) | Exit::TailCall(_) | Exit::Never => false,
    })
}

/// Returns `true` if a tail call has more than `bytes` bytes of stack arguments. The frame is then below the room for
/// them, and so are its stack slots.
///
/// # Errors
/// If the convention of a tail call is not known.
fn grows(func: &Function, code: &Code<'_>, meaning: &Meaning, bytes: i64) -> Result<bool, Feature> {
    for block in meaning.order.iter().filter_map(|&block| meaning.blocks[block].as_ref()) {
        if let Exit::TailCall(call) = &block.exit
            && abi::convention(code, &func.dfg.signatures[call.signature])?.stack_bytes > bytes
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `true` if a block does nothing but jump.
fn only_jumps(block: &BlockMeaning) -> bool {
    block.effects.is_empty() && matches!(block.exit, Exit::Jump(_))
}

impl<'a, 'j> Proof<'a, 'j> {
    /// Returns a proof without relations.
    ///
    /// # Errors
    /// If the function or the code has a feature that proofs do not know.
    pub(crate) fn new(
        func: &'a Function,
        code: &'a Code<'a>,
        terms: &'a mut Terms,
        judge: &'a mut Judge<'j>,
    ) -> Result<Self, Feature> {
        if !func.dynamic_stack_slots.is_empty() {
            return Err(Feature::Preamble("a dynamic stack slot"));
        }
        // Both standards align the stack to 16 bytes.
        if func.stack_slots.values().any(|data| data.align_shift > 4) {
            return Err(Feature::Preamble("a stack slot aligned beyond the stack"));
        }
        if code.heads.is_empty() {
            return Err(Feature::Tables);
        }
        let machine = code.machine;
        let convention = abi::convention(code, &func.signature)?;
        let (base, entry) = (terms.var("code", Sort::Bits(64)), machine.variables(terms, "in."));
        let unknown = machine.variables(terms, "?");
        let stack = entry.general[machine.stack_pointer()];
        let caller = machine.pushed_by_call();
        let mut addresses = Vec::new();
        let mut slots = Vec::new();
        for (data, &offset) in func.stack_slots.values().zip(&code.slots) {
            let start = offset + caller;
            slots.push((start, start.saturating_add(data.size.into())));
            let offset = terms.number(64, start as u64 as u128);
            addresses.push(terms.add(stack, offset));
        }
        if addresses.len() != func.stack_slots.len() {
            return Err(Feature::Tables);
        }
        let (pointers, literals) = symbols(terms, code);
        let mut entry_frame = Frame::default();
        let return_address = match machine {
            crate::Machine::Aarch64 => entry.general[30],
            crate::Machine::X64 => {
                let address = terms.var("in.return", Sort::Bits(64));
                entry_frame.store(terms, 0, address);
                address
            }
        };
        for passed in &convention.arguments {
            if let Passing::Stack(offset) = passed.place {
                let content = terms.var(&format!("in.stack{offset}"), Sort::Bits(64));
                entry_frame.store(terms, caller + offset, content);
            }
        }
        let mut arguments: Vec<Term> = Vec::new();
        for passed in &convention.arguments {
            let whole = match passed.place {
                Passing::General(number) => entry.general[number],
                Passing::Vector(number) => entry.vector[number][0],
                Passing::VectorHigh(number) => entry.vector[number][1],
                Passing::Stack(offset) => {
                    let content = entry_frame.load(terms, caller + offset, 8);
                    content.expect("stack arguments are stored at the entry")
                }
            };
            let part = terms.extract(whole, 0, passed.width);
            match arguments.get_mut(passed.number) {
                Some(low) => *low = terms.concat(part, *low),
                None => arguments.push(part),
            }
        }
        let mut from_entry = |offset: i64| {
            let offset = terms.number(64, offset as u64 as u128);
            terms.add(stack, offset)
        };
        let addresses = Addresses {
            slots: addresses,
            pointers: addresses::pointers(code).map(|both| both.map(&mut from_entry)),
            return_address,
            code: base,
        };
        let meaning = translate::meaning(terms, func, code, &arguments, &addresses)?;
        if has_edge_to_entry(&meaning) {
            return Err(Feature::Preamble("an edge to the entry block"));
        }
        if (!slots.is_empty() || meaning.is_frame_read) && grows(func, code, &meaning, convention.stack_bytes)? {
            return Err(Feature::Preamble("an address in the frame beside a tail call with more arguments"));
        }
        let mut needed: SecondaryMap<Block, Vec<Term>> = SecondaryMap::new();
        let values = live::needed(func, &meaning.sources, &meaning.order)?;
        let bits = live::needed_bits(func, &meaning.order, &meaning.repeats)?;
        for &block in &meaning.order {
            let known =
                values[block].iter().filter_map(|&value| meaning.values[value]).chain(bits[block].iter().copied());
            let mut names: Vec<Term> = known.flat_map(|value| parts(terms, value)).collect();
            names.sort_unstable();
            names.dedup();
            needed[block] = names;
        }
        let mut numbers = SecondaryMap::new();
        meaning.order.iter().enumerate().for_each(|(number, &block)| numbers[block] = number);
        let around = Surroundings {
            code,
            stack,
            base,
            slots,
            caller,
            area: convention.area.map(|(register, bytes)| (entry.general[register], bytes)),
            arguments_end: caller + convention.stack_bytes,
            pointers,
            literals,
        };
        let mut proof = Proof {
            func,
            terms,
            judge,
            around,
            meaning,
            needed,
            heads: SecondaryMap::new(),
            is_head: vec![false; code.bytes.len() + 1],
            numbers,
            relations: SecondaryMap::new(),
            decoded: vec![None; code.bytes.len() + 1],
            entry,
            unknown,
            after_calls: Vec::new(),
            convention,
            entry_frame,
            return_address,
            instructions: 0,
            effort: Effort::Forms,
            used: None,
            checked: Checked::default(),
        };
        proof.find_heads();
        Ok(proof)
    }

    /// Chooses the cut points: emitted blocks that do more than jump, or that jump in a circle. If several are at one
    /// offset, the last one is, because the others have no instructions.
    fn find_heads(&mut self) {
        let mut last: Option<(Block, u32)> = None;
        for &(block, offset) in &self.around.code.heads {
            let Some(meaning) = self.meaning.blocks[block].as_ref() else { continue };
            if (only_jumps(meaning) && !self.is_in_circle(block)) || offset as usize >= self.is_head.len() {
                continue;
            }
            if let Some((other, at)) = last
                && at == offset
            {
                self.heads[other] = None;
            }
            self.heads[block] = Some(offset);
            self.is_head[offset as usize] = true;
            last = Some((block, offset));
        }
    }

    /// Returns `true` if jumps lead from a block to itself, through blocks that only jump.
    fn is_in_circle(&self, block: Block) -> bool {
        let mut at = block;
        for _ in 0..=self.meaning.order.len() {
            match self.meaning.blocks[at].as_ref().map(|meaning| (only_jumps(meaning), &meaning.exit)) {
                Some((true, Exit::Jump(edge))) => at = edge.block,
                _ => return false,
            }
            if at == block {
                return true;
            }
        }
        false
    }

    /// Checks that stack slots are memory of the frame, and do not overlap.
    pub(crate) fn check_slots(&self) -> Result<(), Stopped> {
        let mut slots = self.around.slots.clone();
        slots.sort_unstable();
        let is_outside = slots.iter().any(|&(_, end)| end > 0);
        let overlap = slots.windows(2).any(|pair| pair[0].1 > pair[1].0);
        if is_outside || overlap {
            return Err(Stopped::Failure(Site { block: None, offset: 0 }, Fault::SlotPlace.into()));
        }
        Ok(())
    }
}
