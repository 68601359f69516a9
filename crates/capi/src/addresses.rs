//! Tables of code in memory by address: traps, references for collectors, and names; and imported symbols.

use crate::buffer::Buffer;
use crate::entry::entries;
use crate::error::{Error, Failure, Status};
use crate::foreign::{Address, Lent, Out, User};
use crate::handles::Handle;
use crate::items::{DataItem, FunctionItem};
use crate::module::Module;

/// A reference in the frame of an active call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// Offset in bytes above the stack pointer of the function's body.
    pub offset: u32,
    /// Type of the reference: `KP_I64` and so on.
    pub ty: u32,
}

/// A lookup of imported symbols by name. Returns a null pointer for a name that it does not know. It must return,
/// without `longjmp` and without an exception.
pub type Lookup = Option<extern "C-unwind" fn(user: User, name: Lent) -> Address>;

entries! {
    /// Adds a lookup for imported symbols of a module in memory. It comes before earlier lookups and the symbols of the
    /// process, and after symbols that were set.
    ///
    /// Ownership: `user` is passed to the lookup. It must be valid until the module is freed.
    fn kp_module_add_lookup(module: Handle<Module>, lookup: Lookup, user: User; error) {
        let lookup = lookup.ok_or_else(|| Failure::argument("`lookup` is a null pointer"))?;
        module.with(|module| {
            module.jit()?.symbol_lookup(Box::new(move |name| {
                let name = format!("{name}\0");
                let address = lookup(user, Lent::of(name.as_bytes()));
                (address.number() != 0).then(|| address.bytes())
            }));
            Ok(())
        })
    }

    /// Stores the address of a loaded function. Use this for functions without a name.
    fn kp_module_function_address(module: Handle<Module>, function: Handle<FunctionItem>, address: Out<'_, Address>; error) {
        address.put(Address::NULL);
        module.with(|module| {
            let id = module.function(function)?;
            let found = module.jit()?.function_address(id);
            address.put(Address::of(found.ok_or_else(|| Failure::new(Status::Name, "the function is not loaded"))?));
            Ok(())
        })
    }

    /// Stores the address of a loaded data object.
    fn kp_module_data_address(module: Handle<Module>, data: Handle<DataItem>, address: Out<'_, Address>; error) {
        address.put(Address::NULL);
        module.with(|module| {
            let id = module.data(data)?;
            let found = module.jit()?.data_address(id);
            let missing = || Failure::new(Status::Name, "the data object is not loaded");
            address.put(Address::of(found.ok_or_else(missing)?.cast_const()));
            Ok(())
        })
    }

    /// Stores the trap code of the instruction at an address of loaded code, or 0 if it is no known trap. A handler of
    /// `SIGILL`, `SIGSEGV` or `SIGFPE` may call it for code that was interrupted.
    fn kp_module_trap_at(module: Handle<Module>, address: Address, code: Out<'_, u32>; error) {
        module.with(|module| {
            let trap = module.jit()?.trap_at(address.number());
            code.put(trap.map_or(0, |code| code.byte().into()));
            Ok(())
        })
    }

    /// Stores the references that are live during the call that returns to an address of loaded code: their number, up
    /// to `capacity` of them, and the distance in bytes from the stack pointer of the function's body up to its frame
    /// pointer. The number is 0 if there are none.
    fn kp_module_stack_map_at(
        module: Handle<Module>, return_address: Address, references: Out<'_, Reference>, capacity: usize,
        count: Out<'_, usize>, body_offset: Out<'_, u32>; error
    ) {
        module.with(|module| {
            let map = module.jit()?.stack_map_at(return_address.number());
            count.put(map.map_or(0, |map| map.entries.len()));
            body_offset.put(map.map_or(0, |map| map.body_offset));
            let entries = map.map_or(&[][..], |map| map.entries).iter();
            references.put_all(capacity, entries.map(|entry| Reference { offset: entry.offset, ty: entry.ty.code().into() }));
            Ok(())
        })
    }

    /// Stores the name of the function whose loaded code contains an address, and the offset of the address in it.
    /// `name` may be null, for collectors that walk frames and only need to know whether there is a function.
    ///
    /// Ownership: the caller frees the buffer with `kp_buffer_free`.
    fn kp_module_function_at(module: Handle<Module>, address: Address, name: Out<'_, Handle<Buffer>>, offset: Out<'_, usize>; error) {
        module.with(|module| {
            let found = module.jit()?.function_at(address.number());
            let (symbol, at) = found.ok_or_else(|| Failure::new(Status::Name, "no loaded function contains the address"))?;
            if let Ok(name) = name.required("name") {
                name.put(Buffer::create(symbol.to_string().trim_start_matches('%').into())?);
            }
            offset.put(at);
            Ok(())
        })
    }
}
