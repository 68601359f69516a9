//! Handlers of exceptions as `.gcc_except_table`, for the personality routines of other languages.
//!
//! Exceptions of other languages have no tag here, so they reach only the handlers of every tag. These handlers catch
//! everything. Their payloads are the exception and the number of the filter, 1, as such routines pass them. The
//! layout is the one that libgcc reads. Offsets count from the function's start.

use gimli::write::{EndianVec, Result, Writer};
use gimli::{LittleEndian, constants};
use kingpost_mach::{FunctionView, ModuleBuffer};

/// The contents of the section, and the start of the part of each function with such a handler.
#[derive(Debug)]
pub(crate) struct ExceptTable {
    pub(crate) bytes: Vec<u8>,
    /// Start of each function's part, by function.
    pub(crate) starts: Vec<Option<u64>>,
}

impl ExceptTable {
    /// Returns the table of a module.
    pub(crate) fn new(module: &ModuleBuffer) -> Result<ExceptTable> {
        let mut table = ExceptTable { bytes: Vec::new(), starts: Vec::new() };
        for f in module.functions() {
            let handlers = handlers_of(&f).transpose()?;
            table.starts.push(handlers.is_some().then_some(table.bytes.len() as u64));
            table.bytes.extend(handlers.unwrap_or_default());
        }
        Ok(table)
    }
}

/// Returns the part of one function; `None` if it has no handler of every tag.
pub(crate) fn handlers_of(f: &FunctionView<'_>) -> Option<Result<Vec<u8>>> {
    f.handlers.iter().any(|handler| handler.tag.is_none()).then(|| function(f))
}

fn function(f: &FunctionView<'_>) -> Result<Vec<u8>> {
    // One action with filter 1. The filter has no type, so it catches everything.
    const ACTIONS: &[u8] = &[1, 0];
    const TYPES: &[u8] = &[0; 4];
    let sites = call_sites(f)?;
    let mut end = EndianVec::new(LittleEndian);
    end.write_u8(constants::DW_EH_PE_uleb128.0)?;
    end.write_uleb128(sites.len() as u64)?;
    for part in [&sites[..], ACTIONS, TYPES] {
        end.write(part)?;
    }
    let mut out = EndianVec::new(LittleEndian);
    out.write_u8(constants::DW_EH_PE_omit.0)?;
    out.write_u8(constants::DW_EH_PE_udata4.0)?;
    out.write_uleb128(end.len() as u64)?;
    out.write(end.slice())?;
    Ok(out.into_vec())
}

/// Returns the table of call sites: start, length, landing pad, action. Code without calls and calls without handlers
/// pass exceptions on to the caller.
fn call_sites(f: &FunctionView<'_>) -> Result<Vec<u8>> {
    let mut out = EndianVec::new(LittleEndian);
    let mut site = |start: u32, end: u32, landing_pad: u32, action: u64| {
        out.write_uleb128(start.into())?;
        out.write_uleb128((end - start).into())?;
        out.write_uleb128(landing_pad.into())?;
        out.write_uleb128(action)
    };
    let mut from = 0;
    for handler in f.handlers.iter().filter(|handler| handler.tag.is_none()) {
        // A call is looked up by the byte before its return address. If there are several handlers, the first one
        // applies.
        let call = handler.return_offset - 1;
        if call < from {
            continue;
        }
        site(from, call, 0, 0)?;
        site(call, call + 1, handler.handler_offset, 1)?;
        from = call + 1;
    }
    site(from, f.code.len() as u32, 0, 0)?;
    Ok(out.into_vec())
}
