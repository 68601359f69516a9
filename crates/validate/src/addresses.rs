//! Addresses of the frame and of the code that are values of the function.
//!
//! | operation | value |
//! |---|---|
//! | `stack_addr` | the address of a slot, which the table of slots names |
//! | `get_stack_pointer` | the stack pointer of the body, as the table of the frame says |
//! | `get_frame_pointer` | the address of the caller's frame pointer and the return address, as the table says |
//! | `get_return_address` | the return address |
//! | `get_exception_handler_address` | the address at which a handler of the table begins |
//!
//! Both pointers must have these values at each call: unwinders find the frame by the same table. A return address that the
//! code signs is out of scope.

use crate::error::{Fault, Feature};
use crate::input::{Code, Machine};
use crate::path::{Failure, Path};
use crate::prove::Proof;
use crate::translate::Translation;
use kingpost_ir::{Block, Opcode};
use kingpost_smt::Term;

/// `paciasp` and `pacibsp`, which sign the return address.
const SIGNATURES: [[u8; 4]; 2] = [[0x3f, 0x23, 0x03, 0xd5], [0x7f, 0x23, 0x03, 0xd5]];

/// Returns the frame pointer and the stack pointer in the body, as their offsets from the stack pointer at the entry.
pub(crate) fn pointers(code: &Code<'_>) -> Option<[i64; 2]> {
    let stack = code.machine.pushed_by_call().checked_sub(code.frame_bytes?)?;
    Some([stack.checked_add(code.body_offset)?, stack])
}

/// Returns `true` if the code signs its return address.
fn is_signed(code: &Code<'_>) -> bool {
    code.machine == Machine::Aarch64
        && code.bytes.chunks_exact(4).take(4).any(|word| SIGNATURES.iter().any(|signature| signature == word))
}

impl Translation<'_> {
    /// Returns the value of an operation that reads a pointer of the frame; `None` for another operation.
    ///
    /// # Errors
    /// If the value has no known meaning.
    pub(crate) fn frame_address(&mut self, opcode: Opcode) -> Result<Option<Term>, Feature> {
        let pointers = self.addresses.pointers.ok_or(Feature::Opcode(opcode));
        let address = match opcode {
            Opcode::GetFramePointer => pointers?[0],
            Opcode::GetStackPointer => pointers?[1],
            Opcode::GetReturnAddress if is_signed(self.code) => return Err(Feature::Opcode(opcode)),
            Opcode::GetReturnAddress => self.addresses.return_address,
            _ => return Ok(None),
        };
        self.is_frame_read = true;
        Ok(Some(address))
    }

    /// Returns the address of a handler of the call that ends `block`.
    ///
    /// # Errors
    /// If another call has handlers, too: the table names calls by their return addresses.
    pub(crate) fn handler_address(&mut self, block: Block, index: i64) -> Result<Term, Feature> {
        let func = self.func;
        let lasts = func.layout.blocks().map(|block| (block, func.layout.last_inst(block)));
        let mut tables = lasts.filter_map(|(block, last)| Some((block, func.dfg.inst_exception_table(last?)?)));
        let unknown = Feature::Opcode(Opcode::GetExceptionHandlerAddress);
        let (Some((at, table)), None) = (tables.next(), tables.next()) else { return Err(unknown) };
        let listed = &self.code.handlers;
        if at != block || listed.len() != func.dfg.exception_table(table).handlers.len() {
            return Err(unknown);
        }
        let handler = usize::try_from(index).ok().and_then(|index| listed.get(index)).ok_or(unknown)?;
        Ok(self.plus(self.addresses.code, handler.offset.into()))
    }
}

impl Proof<'_, '_> {
    /// Requires the pointers of the frame to be as in the table, at a call with the stack pointer `stack`.
    pub(crate) fn check_pointers(&mut self, path: &Path, stack: i64) -> Result<(), Failure> {
        let code = self.around.code;
        let Some([frame_pointer, stack_pointer]) = pointers(code) else { return Ok(()) };
        let content = path.state.general[code.machine.frame_pointer()];
        if stack != stack_pointer {
            return Err(Fault::StackPointer.into());
        }
        match self.around.frame_offset(self.terms, content) == Some(frame_pointer) {
            true => Ok(()),
            false => Err(Fault::FrameChain.into()),
        }
    }
}
