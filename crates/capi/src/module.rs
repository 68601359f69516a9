//! Modules: functions and data that are declared by name, and become callable code or an object file.

use crate::buffer::Buffer;
use crate::config::Config;
use crate::entry::entries;
use crate::error::{Error, Failure, Status};
use crate::foreign::{Address, Array, Out, Text};
use crate::handles::{Handle, Object, Table};
use crate::items::{self, DataItem, FunctionItem};
use kingpost::codegen::Stats;
use kingpost::codegen::module::{DataDescription, DataId, DataKind, FuncId, Linkage};
use kingpost::compiled::{DataPointer, SymbolName};
use kingpost::ir::cranelift_entity::EntityRef;
use kingpost::ir::near::near_suffix;
use kingpost::jit::JitModule;
use kingpost::object::{ObjectModule, ObjectOptions};
use kingpost::reader::parse_signature;

/// Functions and data of one program or library.
pub struct Module {
    kind: Kind,
    /// Number by which handles of functions and data refer to this module.
    pub(crate) tag: u32,
}

enum Kind {
    Jit(Box<JitModule>),
    Object(Box<ObjectModule>),
    /// An object module whose object was taken.
    Taken,
}

/// Declarations and definitions of either kind of module.
pub(crate) type Definitions = dyn kingpost::codegen::module::Module;

static MODULES: Table<Module> = Table::new();

impl Object for Module {
    const KIND: u8 = 3;
    const NAME: &'static str = "module";

    fn table() -> &'static Table<Module> {
        &MODULES
    }
}

impl Module {
    fn create(kind: Kind) -> Result<Handle<Module>, Failure> {
        Handle::create(Module { kind, tag: items::new_tag() })
    }

    /// Returns the module for declarations and definitions.
    pub(crate) fn open(&mut self) -> Result<&mut Definitions, Failure> {
        match &mut self.kind {
            Kind::Jit(module) => Ok(&mut **module),
            Kind::Object(module) => Ok(&mut **module),
            Kind::Taken => Err(taken()),
        }
    }

    pub(crate) fn jit(&mut self) -> Result<&mut JitModule, Failure> {
        match &mut self.kind {
            Kind::Jit(module) => Ok(module),
            _ => Err(Failure::new(Status::Module, "the module is an object, not code in memory")),
        }
    }

    fn object_options(&mut self) -> Result<&mut ObjectOptions, Failure> {
        match &mut self.kind {
            Kind::Object(module) => Ok(module.options_mut()),
            Kind::Jit(_) => Err(Failure::new(Status::Module, "the module is code in memory, not an object")),
            Kind::Taken => Err(taken()),
        }
    }

    /// Returns the function that a handle refers to.
    pub(crate) fn function(&mut self, function: Handle<FunctionItem>) -> Result<FuncId, Failure> {
        let id = FuncId::new(items::index(function, self.tag)?);
        self.open()?.declarations().function(id).map(|_| id).ok_or_else(items::foreign::<FunctionItem>)
    }

    /// Returns the data object that a handle refers to.
    pub(crate) fn data(&mut self, data: Handle<DataItem>) -> Result<DataId, Failure> {
        let id = DataId::new(items::index(data, self.tag)?);
        self.open()?.declarations().data_object(id).map(|_| id).ok_or_else(items::foreign::<DataItem>)
    }
}

/// Returns the failure of a call after the end of an object module.
fn taken() -> Failure {
    Failure::new(Status::Module, "the object of this module was taken, so the module has ended")
}

/// Returns the linkage with this number.
fn linkage(number: u32) -> Result<Linkage, Failure> {
    use Linkage::{Export, Hidden, Import, LinkOnce, Local, Preemptible};
    let all = [Import, Local, Hidden, Preemptible, Export, LinkOnce];
    let known = all.get(number as usize).copied();
    known.ok_or_else(|| Failure::argument(format!("`linkage` is {number}; the largest linkage is 5, `KP_LINK_ONCE`")))
}

/// Returns the use of a data object with this number.
fn data_kind(number: u32) -> Result<DataKind, Failure> {
    let all = [DataKind::ReadOnly, DataKind::Writable, DataKind::ThreadLocal];
    let known = all.get(number as usize).copied();
    known.ok_or_else(|| Failure::argument(format!("`kind` is {number}; the largest kind is 2, `KP_DATA_THREAD_LOCAL`")))
}

/// A pointer in a data object to a function or another data object.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Pointer {
    /// Offset of the pointer in the data object, in bytes.
    pub offset: u64,
    /// Number of bytes that is added to the address.
    pub addend: i64,
    /// The function that it points to, or null.
    pub function: Handle<FunctionItem>,
    /// The data object that it points to, or null.
    pub data: Handle<DataItem>,
}

impl Module {
    fn pointer(&mut self, pointer: &Pointer) -> Result<DataPointer, Failure> {
        let symbol = match (pointer.function.bits(), pointer.data.bits()) {
            (_, 0) => SymbolName::User(0, self.function(pointer.function)?.index() as u32),
            (0, _) => SymbolName::User(1, self.data(pointer.data)?.index() as u32),
            _ => return Err(Failure::argument("a pointer refers to a function and to data at once")),
        };
        Ok(DataPointer { offset: pointer.offset, symbol, addend: pointer.addend })
    }
}

entries! {
    /// Creates a module in memory. Its target must be this machine: `host` or `native`.
    ///
    /// Ownership: the caller frees the module with `kp_module_free`, which frees its code and data.
    fn kp_module_new_jit(config: Handle<Config>, module: Out<'_, Handle<Module>>; error) {
        let module = module.required("module")?;
        let compiler = config.with(|config| config.compiler())?;
        module.put(Module::create(Kind::Jit(Box::new(JitModule::new(compiler))))?);
        Ok(())
    }

    /// Creates a module that becomes a relocatable object file for the linker.
    ///
    /// Ownership: the caller frees the module with `kp_module_free`.
    fn kp_module_new_object(config: Handle<Config>, module: Out<'_, Handle<Module>>; error) {
        let module = module.required("module")?;
        let compiler = config.with(|config| config.compiler())?;
        let unwind_info = compiler.settings().unwind_info;
        let options = ObjectOptions::default().with(|options| options.unwind_info = unwind_info);
        module.put(Module::create(Kind::Object(Box::new(ObjectModule::new(compiler, options))))?);
        Ok(())
    }

    /// Frees a module. Its functions and data, and their addresses, must not be used any more.
    fn kp_module_free(module: Handle<Module>; error) {
        module.take().map(drop)
    }

    /// Declares a function. `signature` is in text form: `(i64, i32 sext) -> f64`, with a calling convention at the
    /// end if it is not C's. A second declaration of a name returns the first one's function and merges the linkage.
    /// The handle is valid as long as the module.
    fn kp_module_declare_function(
        module: Handle<Module>, name: Text<'_>, linkage: u32, signature: Text<'_>, function: Out<'_, Handle<FunctionItem>>; error
    ) {
        let (name, linkage, text) = (name.not_empty("name")?, self::linkage(linkage)?, signature.required("signature")?);
        module.with(|module| {
            let tag = module.tag;
            let declared = module.open()?;
            let signature = parse_signature(text, declared.compiler().call_conv())?;
            let id = declared.declare_function(name, linkage, &signature)?;
            function.put(items::handle(tag, id.index()));
            Ok(())
        })
    }

    /// Declares a function without a name, which only this module can refer to.
    fn kp_module_declare_anonymous_function(
        module: Handle<Module>, signature: Text<'_>, function: Out<'_, Handle<FunctionItem>>; error
    ) {
        let text = signature.required("signature")?;
        module.with(|module| {
            let tag = module.tag;
            let declared = module.open()?;
            let signature = parse_signature(text, declared.compiler().call_conv())?;
            function.put(items::handle(tag, declared.declare_anonymous_function(&signature).index()));
            Ok(())
        })
    }

    /// Declares a data object. `kind` is `KP_DATA_READ_ONLY` and so on. A second declaration of a name returns the
    /// first one's object, merges the linkage, and makes it writable if either declaration does.
    fn kp_module_declare_data(
        module: Handle<Module>, name: Text<'_>, linkage: u32, kind: u32, data: Out<'_, Handle<DataItem>>; error
    ) {
        let (name, linkage, kind) = (name.not_empty("name")?, self::linkage(linkage)?, data_kind(kind)?);
        module.with(|module| {
            let tag = module.tag;
            let id = module.open()?.declare_data(name, linkage, kind)?;
            data.put(items::handle(tag, id.index()));
            Ok(())
        })
    }

    /// Declares a data object without a name, which only this module can refer to.
    fn kp_module_declare_anonymous_data(module: Handle<Module>, kind: u32, data: Out<'_, Handle<DataItem>>; error) {
        let kind = data_kind(kind)?;
        module.with(|module| {
            let tag = module.tag;
            data.put(items::handle(tag, module.open()?.declare_anonymous_data(kind).index()));
            Ok(())
        })
    }

    /// Finds the function that is declared with this name.
    fn kp_module_find_function(module: Handle<Module>, name: Text<'_>, function: Out<'_, Handle<FunctionItem>>; error) {
        let name = name.required("name")?;
        module.with(|module| {
            let id = module.open()?.declarations().function_named(name);
            let id = id.ok_or_else(|| Failure::new(Status::Name, format!("no function is called `{name}`")))?;
            function.put(items::handle(module.tag, id.index()));
            Ok(())
        })
    }

    /// Finds the data object that is declared with this name.
    fn kp_module_find_data(module: Handle<Module>, name: Text<'_>, data: Out<'_, Handle<DataItem>>; error) {
        let name = name.required("name")?;
        module.with(|module| {
            let id = module.open()?.declarations().data_named(name);
            let id = id.ok_or_else(|| Failure::new(Status::Name, format!("no data object is called `{name}`")))?;
            data.put(items::handle(module.tag, id.index()));
            Ok(())
        })
    }

    /// Defines a data object: these bytes, then zeros up to `size` bytes. `align` is a power of two. `pointers` are
    /// addresses in it, eight bytes each.
    fn kp_module_define_data(
        module: Handle<Module>, data: Handle<DataItem>, bytes: Array<'_, u8>, length: usize, size: u64, align: u64,
        pointers: Array<'_, Pointer>, pointer_count: usize; error
    ) {
        let (bytes, pointers) = (bytes.get(length, "bytes")?, pointers.get(pointer_count, "pointers")?);
        if size < bytes.len() as u64 {
            return Err(Failure::argument(format!("`size` is {size}, less than the {length} bytes")));
        }
        module.with(|module| {
            let id = module.data(data)?;
            let pointers = pointers.iter().map(|pointer| module.pointer(pointer)).collect::<Result<Vec<_>, _>>()?;
            let description = match bytes {
                [] => DataDescription::zeros(size),
                _ if size > 1 << 30 => return Err(Failure::new(Status::Limit, "`size` is more than 2^30 bytes")),
                _ => {
                    let mut all = bytes.to_vec();
                    all.resize(size as usize, 0);
                    DataDescription::bytes(all)
                }
            };
            let description = description.with(|data| (data.align, data.pointers) = (align, pointers));
            Ok(module.open()?.define_data(id, &description)?)
        })
    }

    /// Makes `function` a second symbol of `target`, which is defined and has the same signature. The symbol has the
    /// linkage of its declaration.
    fn kp_module_define_function_alias(
        module: Handle<Module>, function: Handle<FunctionItem>, target: Handle<FunctionItem>; error
    ) {
        module.with(|module| {
            let (id, target) = (module.function(function)?, module.function(target)?);
            Ok(module.open()?.define_function_alias(id, target)?)
        })
    }

    /// Makes `data` a second symbol of `target`, which is defined and of the same kind. The symbol has the linkage of its
    /// declaration.
    fn kp_module_define_data_alias(module: Handle<Module>, data: Handle<DataItem>, target: Handle<DataItem>; error) {
        module.with(|module| {
            let (id, target) = (module.data(data)?, module.data(target)?);
            Ok(module.open()?.define_data_alias(id, target)?)
        })
    }

    /// Sets the address of an imported symbol of a module in memory, for definitions that are loaded later. Symbols
    /// that are not set are looked up in the process and its shared libraries.
    fn kp_module_set_symbol(module: Handle<Module>, name: Text<'_>, address: Address; error) {
        let name = name.not_empty("name")?;
        if address.number() == 0 {
            return Err(Failure::argument("`address` is a null pointer"));
        }
        module.with(|module| {
            module.jit()?.symbol(name, address.bytes());
            Ok(())
        })
    }

    /// Registers functions that are loaded later in a module in memory with gdb and lldb: names and frames. If `source`
    /// is not null, debuggers also know lines and variables. Source locations are lines of the file `source`, whose name
    /// is relative to `folder`. The key `debug_values` of the configuration records the places of variables.
    fn kp_module_enable_debugger(module: Handle<Module>, source: Text<'_>, folder: Text<'_>; error) {
        module.with(|module| {
            let module = module.jit()?;
            match source.get("source")? {
                None => module.enable_debugger(),
                Some(_) => module.enable_debug_info(source.not_empty("source")?, folder.not_empty("folder")?),
            }
            Ok(())
        })
    }

    /// Loads all definitions since the last call into executable memory. Their addresses are known then. After an
    /// error nothing is loaded, and the next call tries again.
    fn kp_module_load(module: Handle<Module>; error) {
        module.with(|module| Ok(module.jit()?.finalize_definitions()?))
    }

    /// Stores the address of a loaded function or data object with this name. The address is valid until the module
    /// is freed. Calling it is the caller's responsibility: the type must be the declared one.
    fn kp_module_address(module: Handle<Module>, name: Text<'_>, address: Out<'_, Address>; error) {
        let name = name.required("name")?;
        address.put(Address::NULL);
        module.with(|module| {
            let found = module.jit()?.address(name);
            let missing = || Failure::new(Status::Name, format!("no loaded function or data object is called `{name}`"));
            address.put(Address::of(found.ok_or_else(missing)?));
            Ok(())
        })
    }

    /// Sets an option of the object: `source`, `folder`, `personality`, `comment` (texts), `debug_lines`, `trap_table`,
    /// `function_sections` or `unwind_info` (`true` or `false`).
    fn kp_module_set_object_option(module: Handle<Module>, key: Text<'_>, value: Text<'_>; error) {
        let (key, value) = (key.required("key")?, value.required("value")?);
        let boolean = || match value {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Failure::new(Status::Name, format!("object option `{key}`: expected `true` or `false`, found `{value}`"))),
        };
        module.with(|module| {
            let options = module.object_options()?;
            match key {
                "source" => options.source = value.into(),
                "folder" => options.folder = value.into(),
                "personality" => options.personality = Some(value.into()),
                "comment" => options.comment = Some(value.into()),
                "function_sections" => options.function_sections = boolean()?,
                "debug_lines" => options.debug_lines = boolean()?,
                "trap_table" => options.trap_table = boolean()?,
                "unwind_info" => options.unwind_info = boolean()?,
                _ => return Err(Failure::new(Status::Name, format!("no object option is called `{key}`"))),
            }
            Ok(())
        })
    }

    /// Stores a count of the functions that were compiled one by one in a module: `functions`, `work` (see
    /// `kp_config_set_limit`), `code_bytes`, `spills`, `fills` and `moves`, and by the verdict of `validate_code`: `proved`,
    /// `refuted`, `not_proved`, `out_of_scope`, and `recompiled`, which `validate_failure` replaced.
    fn kp_module_count(module: Handle<Module>, name: Text<'_>, count: Out<'_, u64>; error) {
        let (name, count) = (name.required("name")?, count.required("count")?);
        module.with(|module| {
            let stats = module.open()?.definitions().context().stats();
            let Stats { functions, work, code_bytes, spills, fills, moves, .. } = *stats;
            let rows = [("functions", functions), ("work", work), ("code_bytes", code_bytes)];
            let edits = [("spills", spills), ("fills", fills), ("moves", moves)];
            let rows: Vec<_> = [&rows[..], &edits, &stats.proofs.rows()].concat();
            let found = rows.iter().find(|row| row.0 == name);
            let near = || near_suffix(name, rows.iter().map(|row| row.0));
            let missing = || Failure::new(Status::Name, format!("there is no count `{name}`{}", near()));
            count.put(found.ok_or_else(missing)?.1);
            Ok(())
        })
    }

    /// Ends an object module and stores its object file. Nothing can be declared or defined in the module then.
    ///
    /// Ownership: the caller frees the buffer with `kp_buffer_free`, and the module with `kp_module_free`.
    fn kp_module_object(module: Handle<Module>, object: Out<'_, Handle<Buffer>>; error) {
        let object = object.required("object")?;
        module.with(|module| {
            module.object_options()?;
            let Kind::Object(taken) = std::mem::replace(&mut module.kind, Kind::Taken) else {
                unreachable!("the module is an object")
            };
            object.put(Buffer::create(taken.finish()?)?);
            Ok(())
        })
    }
}
