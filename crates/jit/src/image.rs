//! Loading of a module, and queries by name or address.

use crate::arena::PageKind;
use crate::entry::EntryPoint;
use crate::error::LoadError;
use crate::function_table::{FunctionTable, LoadedTable};
use crate::layout::{ImagePosition, Layout};
use crate::pages::{BranchTargets, PageSource, Pages};
use crate::relocate::{self, STUB_LEN, Target};
use kingpost_codegen::module::Alias;
use kingpost_ir::TrapCode;
use kingpost_mach::{ContextPlace, DataObject, FunctionView, ModuleBuffer, StackMapEntry, SymbolName};
use std::collections::HashMap;
use std::ops::Range;

/// Returns the address of a symbol that the module does not define.
pub type Resolver<'a> = dyn FnMut(&SymbolName) -> Option<usize> + 'a;

/// A loaded module.
///
/// Its memory has three parts: code and stubs (executable); address table, literals and read-only data (readable);
/// other data (writable). Dropping the image frees the memory; pointers into it are dangling then.
#[derive(Debug)]
pub struct Image {
    /// The parts, by the number of their kind.
    parts: [Option<Pages>; PageKind::ALL.len()],
    symbols: HashMap<SymbolName, usize>,
    /// Start address, length and name of each function, by ascending address.
    functions: Vec<(usize, usize, SymbolName)>,
    /// Addresses of instructions that may trap, ascending.
    traps: Vec<(usize, TrapCode)>,
    /// Handlers of exceptions by the return addresses of calls that may throw, ascending.
    handlers: Vec<(usize, Handler)>,
    /// Calls with live references, by ascending return address.
    mapped_calls: Vec<MappedCall>,
    stack_maps: Vec<StackMapEntry>,
    /// The table of functions, if the system's unwinder requires one.
    #[cfg_attr(not(windows), allow(dead_code, reason = "only the unwinder of Windows reads the table"))]
    function_table: Option<LoadedTable>,
}

/// Parts of an image besides functions and data.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extras<'a> {
    /// Aliases. Each whose target is loaded becomes a symbol of the image.
    pub(crate) aliases: &'a [Alias],
    /// Whether there is unwind information of all functions.
    pub(crate) has_unwind_info: bool,
}

/// A handler of an exception that a call lets through.
///
/// The frame resumes at the handler with the stack pointer of its body, and with the payloads in the registers of the
/// callee's convention. Other registers have their values only if that convention preserves them: the callee-saved
/// registers in the C convention, none in other conventions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handler {
    /// The tag that it catches; `None` for every tag that no other handler of the call catches.
    pub tag: Option<u32>,
    /// Address of the handler.
    pub address: usize,
    /// Distance in bytes from the stack pointer of the body up to the frame pointer.
    pub body_offset: u32,
    /// Place of the value that the exception table passes to the runtime with the tag.
    pub context: Option<ContextPlace>,
}

/// A call with live references.
#[derive(Debug)]
struct MappedCall {
    return_address: usize,
    body_offset: u32,
    /// Range of the call's entries in `stack_maps`.
    entries: Range<usize>,
}

/// References in the frame of an active call, for a moving collector.
#[derive(Clone, Copy, Debug)]
pub struct StackMap<'a> {
    /// Distance in bytes from the stack pointer of the body up to the frame pointer. Offsets are relative to that
    /// stack pointer.
    pub body_offset: u32,
    /// The references.
    pub entries: &'a [StackMapEntry],
}

impl Image {
    /// Loads all functions of `module` and all `data`. `resolve` gives the addresses of symbols that they do not
    /// define.
    ///
    /// # Errors
    /// If a symbol is defined twice or nowhere, a relocation does not reach or is of another machine, fields of a
    /// data object contradict each other, or the system refuses memory.
    pub fn load(module: &ModuleBuffer, data: &[DataObject], resolve: &mut Resolver<'_>) -> Result<Image, LoadError> {
        Image::load_with(module, data, Extras::default(), resolve)
    }

    /// Loads like [`Image::load`], with `extras`.
    pub(crate) fn load_with(
        module: &ModuleBuffer,
        data: &[DataObject],
        extras: Extras<'_>,
        resolve: &mut Resolver<'_>,
    ) -> Result<Image, LoadError> {
        for object in data {
            object.check().map_err(|fault| LoadError::Data(object.name.clone(), fault))?;
        }
        let has_table = cfg!(windows) && extras.has_unwind_info;
        let table = if has_table { FunctionTable::new(module)? } else { FunctionTable::default() };
        let layout = Layout::new(module, data, table.bytes());
        let mut image = Image {
            parts: PageSource::together(layout.bytes, layout.align)?,
            symbols: HashMap::new(),
            functions: Vec::new(),
            traps: Vec::new(),
            handlers: Vec::new(),
            mapped_calls: Vec::new(),
            stack_maps: Vec::new(),
            function_table: None,
        };
        for (f, &place) in module.functions().zip(&layout.functions) {
            let (name, address) = (&f.function.head.name, image.place(place));
            image.define(name, address)?;
            image.functions.push((address, f.code.len(), name.clone()));
            image.add_stack_maps(&f, address);
            image.traps.extend(f.traps.iter().map(|t| (address + t.offset as usize, t.code)));
            image.handlers.extend(f.handlers.iter().map(|site| {
                let handler = Handler {
                    tag: site.tag,
                    address: address + site.handler_offset as usize,
                    body_offset: f.function.head.frame.body_offset,
                    context: site.context,
                };
                (address + site.return_offset as usize, handler)
            }));
        }
        for (object, &place) in data.iter().zip(&layout.data) {
            image.define(&object.name, image.place(place))?;
        }
        for &(literal, place) in &layout.literals {
            image.define(&SymbolName::Literal(literal), image.place(place))?;
            image.bytes(place, literal.bytes().len()).copy_from_slice(literal.bytes());
        }
        for alias in extras.aliases {
            if let Some(address) = image.address(&alias.target) {
                image.define(&alias.name, address)?;
            }
        }
        let targets = image.targets(&layout, resolve)?;
        image.copy_functions(module, &layout, &targets)?;
        image.copy_data(data, &layout, &targets)?;
        image.write_table(&table, layout.table)?;
        let has_landing_pads = module.functions().all(|f| f.function.head.guards.landing_pads);
        for pages in image.parts.iter_mut().flatten() {
            pages.seal(if has_landing_pads { BranchTargets::LandingPads } else { BranchTargets::Any })?;
        }
        Ok(image)
    }

    /// Returns the address of a place.
    fn place(&self, place: ImagePosition) -> usize {
        self.parts[place.part as usize].as_ref().map_or(0, Pages::address) + place.offset
    }

    /// Returns the bytes at a place for writing.
    fn bytes(&mut self, place: ImagePosition, len: usize) -> &mut [u8] {
        let part = self.parts[place.part as usize].as_mut().map_or(&mut [][..], Pages::contents);
        &mut part[place.offset..place.offset + len]
    }

    fn add_stack_maps(&mut self, f: &FunctionView<'_>, address: usize) {
        let body_offset = f.function.head.frame.body_offset;
        for entries in f.stack_maps.chunk_by(|a, b| a.return_offset == b.return_offset) {
            let return_address = address + entries[0].return_offset as usize;
            let first = self.stack_maps.len();
            self.stack_maps.extend_from_slice(entries);
            let entries = first..self.stack_maps.len();
            self.mapped_calls.push(MappedCall { return_address, body_offset, entries });
        }
    }

    fn define(&mut self, name: &SymbolName, address: usize) -> Result<(), LoadError> {
        match self.symbols.insert(name.clone(), address) {
            None => Ok(()),
            Some(_) => Err(LoadError::Duplicate(name.clone())),
        }
    }

    /// Returns the addresses of everything that relocations refer to. Writes the address table and the stubs.
    fn targets(&mut self, layout: &Layout, resolve: &mut Resolver<'_>) -> Result<Vec<Target>, LoadError> {
        let mut targets = Vec::with_capacity(layout.mentioned.len());
        for (i, name) in layout.mentioned.iter().enumerate() {
            let symbol = match self.symbols.get(name) {
                Some(&address) => address,
                None => resolve(name).ok_or_else(|| LoadError::Undefined(name.clone()))?,
            };
            let (stub_place, got_place) = (layout.stubs.plus(i * STUB_LEN), layout.got.plus(i * 8));
            let (stub, got) = (self.place(stub_place), self.place(got_place));
            self.bytes(got_place, 8).copy_from_slice(&(symbol as u64).to_le_bytes());
            relocate::stub(stub, got, self.bytes(stub_place, STUB_LEN));
            targets.push(Target { symbol, stub, got });
        }
        Ok(targets)
    }

    fn copy_functions(&mut self, module: &ModuleBuffer, layout: &Layout, targets: &[Target]) -> Result<(), LoadError> {
        for (f, &start) in module.functions().zip(&layout.functions) {
            self.bytes(start, f.code.len()).copy_from_slice(f.code);
            for reloc in f.relocs {
                let name = &f.symbols[reloc.symbol as usize];
                let place = start.plus(reloc.offset as usize);
                let (address, target) = (self.place(place), targets[layout.index[name]]);
                let field = self.bytes(place, relocate::field_len(reloc.kind));
                relocate::apply(reloc.kind, target, reloc.addend, address, field, name)?;
            }
        }
        Ok(())
    }

    fn copy_data(&mut self, data: &[DataObject], layout: &Layout, targets: &[Target]) -> Result<(), LoadError> {
        for (object, &start) in data.iter().zip(&layout.data) {
            self.bytes(start, object.bytes.len()).copy_from_slice(&object.bytes);
            for pointer in &object.pointers {
                let target = targets[layout.index[&pointer.symbol]];
                let address = (target.symbol as i64).wrapping_add(pointer.addend);
                self.bytes(start.plus(pointer.offset as usize), 8).copy_from_slice(&address.to_le_bytes());
            }
        }
        Ok(())
    }

    fn write_table(&mut self, table: &FunctionTable, place: ImagePosition) -> Result<(), LoadError> {
        if table.entries() == 0 {
            return Ok(());
        }
        // Code comes first in an arena.
        let base = self.place(ImagePosition { part: PageKind::Code, offset: 0 });
        let address = self.place(place);
        let functions: Vec<Range<usize>> =
            self.functions.iter().map(|&(start, len, _)| start - base..start - base + len).collect();
        table.write(&functions, address.wrapping_sub(base), self.bytes(place, table.bytes()))?;
        self.function_table = Some(LoadedTable { address, entries: table.entries(), base });
        Ok(())
    }

    /// Returns the table of functions.
    #[cfg(windows)]
    pub(crate) fn function_table(&self) -> Option<LoadedTable> {
        self.function_table
    }

    /// Returns address, length in bytes and name of each function, by ascending address.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = (usize, usize, &SymbolName)> {
        self.functions.iter().map(|&(address, bytes, ref name)| (address, bytes, name))
    }

    /// Returns the address of a function or data object of the module.
    pub fn address(&self, name: &SymbolName) -> Option<usize> {
        self.symbols.get(name).copied()
    }

    /// Returns the trap code of the instruction at `address`, if it is a known trap.
    pub fn trap_at(&self, address: usize) -> Option<TrapCode> {
        let index = self.traps.binary_search_by_key(&address, |&(at, _)| at).ok()?;
        Some(self.traps[index].1)
    }

    /// Returns the references that are live during the call that returns to `return_address`; `None` if there are
    /// none.
    pub fn stack_map_at(&self, return_address: usize) -> Option<StackMap<'_>> {
        let index = self.mapped_calls.binary_search_by_key(&return_address, |call| call.return_address).ok()?;
        let call = &self.mapped_calls[index];
        Some(StackMap { body_offset: call.body_offset, entries: &self.stack_maps[call.entries.clone()] })
    }

    /// Returns the handlers of exceptions, each with the return address of its call, by ascending address. The
    /// handlers of one call have the order of its exception table.
    pub fn handlers(&self) -> &[(usize, Handler)] {
        &self.handlers
    }

    /// Returns the handlers of the call that returns to `address`.
    pub fn handlers_at(&self, address: usize) -> &[(usize, Handler)] {
        let start = self.handlers.partition_point(|&(at, _)| at < address);
        let len = self.handlers[start..].partition_point(|&(at, _)| at == address);
        &self.handlers[start..start + len]
    }

    /// Returns the function whose code contains `address`, and the offset in the function.
    pub fn function_at(&self, address: usize) -> Option<(&SymbolName, usize)> {
        let next = self.functions.partition_point(|&(start, ..)| start <= address);
        let (start, len, name) = self.functions[..next].last()?;
        (address - start < *len).then_some((name, address - start))
    }

    /// Returns the function `name` for calls; `None` if there is no function with this name.
    ///
    /// # Safety
    /// `F` must be the type that the function was compiled with: its arguments, result and calling convention. The
    /// pointer must not be called after the image is dropped, and no thread may be in a call at that time. The
    /// effects of the function must be sound.
    pub unsafe fn get<F: EntryPoint>(&self, name: &SymbolName) -> Option<F> {
        let &(address, ..) = self.functions.iter().find(|(.., function)| function == name)?;
        // SAFETY: `address` is the start of code that is mapped executable while `self` lives; the caller promises
        // everything else.
        Some(unsafe { F::at(address) })
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use kingpost_mach::{Buffer, FunctionHead, JumpTables, NoBranches, RelocKind};

    fn add(module: &mut ModuleBuffer, name: &str, symbols: &[SymbolName], emit: impl FnOnce(&mut Buffer)) {
        let mut buffer = Buffer::default();
        buffer.start(0);
        emit(&mut buffer);
        let head = FunctionHead::of_bytes(SymbolName::named(name), 1);
        buffer.finish(head, &JumpTables::default(), symbols, &NoBranches, module).unwrap();
    }

    extern "sysv64" fn seven() -> u64 {
        7
    }

    #[test]
    fn code_data_and_outside_functions_meet() {
        let (counter, outside) = (SymbolName::named("counter"), SymbolName::named("seven"));
        let mut module = ModuleBuffer::default();
        add(&mut module, "f", &[outside.clone(), counter.clone()], |b| {
            b.put1(0x53); // push rbx
            b.put(&[0x48, 0x89, 0xfb, 0xe8]); // mov rbx, rdi; call seven
            b.reloc(RelocKind::X86CallPltRel4, 0, -4);
            b.put4(0);
            b.put(&[0x48, 0x03, 0x05]); // add rax, [rip + counter]
            b.reloc(RelocKind::X86PcRel4, 1, -4);
            b.put4(0);
            b.put(&[0x48, 0x89, 0x03, 0x5b, 0xc3]); // mov [rbx], rax; pop rbx; ret
            b.trap(TrapCode::HEAP_OUT_OF_BOUNDS);
            b.put(&[0x0f, 0x0b]);
        });
        let data = DataObject {
            placement: Default::default(),
            name: counter,
            align: 8,
            writable: true,
            tls: false,
            bytes: 35u64.to_le_bytes().to_vec(),
            size: 8,
            pointers: vec![],
        };
        let mut resolve = |name: &SymbolName| (*name == outside).then_some(seven as *const () as usize);
        let image = Image::load(&module, std::slice::from_ref(&data), &mut resolve).unwrap();
        // SAFETY: the bytes above are a function that writes one word.
        let function = |name| unsafe { image.get::<extern "sysv64" fn(*mut u64)>(&SymbolName::named(name)) };
        let mut result = 0;
        function("f").unwrap()(&mut result);
        assert_eq!((result, function("g")), (42, None));
        let f = image.address(&SymbolName::named("f")).unwrap();
        assert_eq!(image.trap_at(f + 21), Some(TrapCode::HEAP_OUT_OF_BOUNDS));
        assert_eq!(image.trap_at(f), None);
        assert_eq!(image.function_at(f + 3), Some((&SymbolName::named("f"), 3)));
        assert_eq!(
            Image::load(&module, &[], &mut |_| None).unwrap_err(),
            LoadError::Undefined(SymbolName::named("seven"))
        );
        let twice = Image::load(&module, &[data.clone(), data], &mut resolve).unwrap_err();
        assert_eq!(twice, LoadError::Duplicate(SymbolName::named("counter")));
    }
}
