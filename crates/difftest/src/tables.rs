//! Checks of the tables of a compiled function against its text: each entry of a stack map names the place that the
//! text names, whatever the order of the code.

use kingpost_ir::function::DebugTag as IrDebugTag;
use kingpost_ir::{Block, Function, Inst, StackSlot};
use kingpost_mach::{DebugTag, FunctionView};
use std::collections::BTreeMap;

/// Checks the tables of `function`. The first tag of each of its calls with stack maps and of its sequence points is a
/// number.
///
/// # Errors
/// The first difference.
pub(crate) fn check(function: &Function, view: &FunctionView<'_>) -> Result<(), String> {
    let mut tables = Tables { function, view, starts: BTreeMap::new(), entries: 0, tags: 0 };
    for block in reachable(function) {
        for inst in function.layout.block_insts(block).filter(|inst| function.debug_tags.contains_key(inst)) {
            tables.annotated(inst).map_err(|what| format!("{}: {what}", function.display_inst(inst)))?;
        }
    }
    if (tables.entries, tables.tags) != (view.stack_maps.len(), view.debug_tags.len()) {
        return Err("the tables have entries that the text has not".into());
    }
    for (slot, keyed) in function.stack_slots.iter().filter(|(_, data)| data.key.is_some()).zip(view.keyed_slots) {
        let (slot, data) = slot;
        if (data.key, data.size) != (Some(keyed.key), keyed.bytes) {
            return Err(format!("{slot} has another key or size"));
        }
        tables.starts_at(slot, keyed.offset)?;
    }
    tables.slots_are_apart()
}

struct Tables<'a> {
    function: &'a Function,
    view: &'a FunctionView<'a>,
    /// Start of each slot, as far as entries have determined it.
    starts: BTreeMap<StackSlot, u32>,
    /// Number of entries and tags in the text.
    entries: usize,
    tags: usize,
}

impl Tables<'_> {
    fn annotated(&mut self, inst: Inst) -> Result<(), String> {
        let (function, view) = (self.function, self.view);
        let tags = &function.debug_tags[&inst];
        let IrDebugTag::User(number) = tags[0] else { return Err("the first tag is no number".into()) };
        let mut sites = view.debug_tags.iter().enumerate().filter(|(_, site)| site.tag == DebugTag::User(number));
        let (Some((first, &site)), None) = (sites.next(), sites.next()) else {
            return Err("its number is not there once".into());
        };
        let is_call = function.dfg.opcode(inst).is_call();
        if site.of_call != is_call || is_call && !view.calls.iter().any(|call| call.return_offset == site.offset) {
            return Err("its tags are not at a call".into());
        }
        for (n, tag) in tags.iter().enumerate() {
            match (view.debug_tags.get(first + n).filter(|other| other.offset == site.offset).map(|s| s.tag), *tag) {
                (Some(DebugTag::User(found)), IrDebugTag::User(number)) if found == number => {}
                (Some(DebugTag::StackSlot(offset)), IrDebugTag::StackSlot(slot)) => self.starts_at(slot, offset)?,
                (found, _) => return Err(format!("tag {n} is {found:?}")),
            }
        }
        let expected = function.stack_maps.get(&inst).map_or(&[][..], |map| map);
        let found: Vec<_> = view.stack_maps.iter().filter(|e| is_call && e.return_offset == site.offset).collect();
        if expected.len() != found.len() {
            return Err(format!("its stack map has {} entries", found.len()));
        }
        for (expected, found) in expected.iter().zip(found) {
            if expected.ty != found.ty {
                return Err(format!("an entry has type {}", found.ty));
            }
            let start = found.offset.checked_sub(expected.offset).ok_or("an entry is below the frame")?;
            self.starts_at(expected.slot, start)?;
        }
        self.entries += expected.len();
        self.tags += tags.len();
        Ok(())
    }

    /// Checks that all entries of a slot agree on its start.
    fn starts_at(&mut self, slot: StackSlot, offset: u32) -> Result<(), String> {
        match self.starts.insert(slot, offset) {
            Some(other) if other != offset => Err(format!("{slot} is at {other} and at {offset}")),
            _ => Ok(()),
        }
    }

    /// Checks that slots are in the frame, aligned, and overlap neither each other nor the return address and the
    /// frame pointer saved next to it.
    fn slots_are_apart(&self) -> Result<(), String> {
        let frame = self.view.function.head.frame;
        if self.starts.is_empty() {
            // There may be no frame.
            return Ok(());
        }
        let mut placed: Vec<(u32, Option<StackSlot>)> =
            self.starts.iter().map(|(&slot, &start)| (start, Some(slot))).chain([(frame.body_offset, None)]).collect();
        placed.sort_by_key(|&(start, _)| start);
        let ends = placed.iter().skip(1).map(|&(start, _)| start).chain([frame.size]);
        for (&(start, slot), end) in placed.iter().zip(ends) {
            let name = slot.map_or("the link".into(), |slot| slot.to_string());
            let (size, align) = slot.map_or((LINK_BYTES, LINK_BYTES), |slot| {
                let data = &self.function.stack_slots[slot];
                (data.size, 1 << data.align_shift)
            });
            if start + size > end || !start.is_multiple_of(align) {
                return Err(format!("{name} is at {start} and must end at {end}"));
            }
        }
        Ok(())
    }
}

/// Bytes of the return address and the frame pointer.
const LINK_BYTES: u32 = 16;

fn reachable(function: &Function) -> Vec<Block> {
    let mut blocks: Vec<Block> = function.layout.entry_block().into_iter().collect();
    let mut next = 0;
    while let Some(&block) = blocks.get(next) {
        next += 1;
        let Some(last) = function.layout.last_inst(block) else { continue };
        for destination in function.dfg.branch_destinations(last) {
            if !blocks.contains(&destination.block) {
                blocks.push(destination.block);
            }
        }
    }
    blocks
}
