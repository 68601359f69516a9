//! Functions and data in the text form, CLIF.

use crate::entry::entries;
use crate::error::{Error, Failure, Status};
use crate::foreign::{Array, Out};
use crate::handles::Handle;
use crate::module::{Definitions, Module};
use kingpost::codegen::module::{DataDescription, DataId, DataKind, FuncId, Linkage, ModuleError};
use kingpost::compiled::{DataPointer, SymbolName};
use kingpost::ir::Function;
use kingpost::ir::cranelift_entity::EntityRef;
use kingpost::ir::extfunc::FuncName;
use kingpost::reader::{self, Parser, Position, SourceMap};

/// Maximum number of initial bytes of a data object in text.
const MAX_DATA_BYTES: u64 = 1 << 30;

/// Declares and defines everything in a text.
fn add(module: &mut Definitions, text: &[u8]) -> Result<(), Failure> {
    let mut options = reader::Options::default();
    options.default_call_conv = Some(module.compiler().call_conv());
    let mut parser = Parser::new(text, options)?;
    let mut func = Function::default();
    while parser.next_function(&mut func)? {
        let start = parser.function_start();
        let at_start = |failure: Failure| {
            let Position { line, column } = Position::of(text, start);
            failure.at(line, column)
        };
        let id = declare(module, &func).map_err(at_start)?;
        module.define_function(id, &mut func).map_err(|error| match &error {
            ModuleError::Compilation { error: cause, .. } => {
                let map = SourceMap::read(text, start);
                let findings = cause.findings();
                let first = findings.first().map(|first| map.range_of(text, first.location, &first.message));
                let Position { line, column } = Position::of(text, first.map_or(start, |range| range.start));
                Failure::from(&error).at(line, column)
            }
            _ => at_start(Failure::from(&error)),
        })?;
    }
    for object in parser.data()? {
        define_data(module, &object).map_err(|failure| {
            let Position { line, column } = Position::of(text, object.start);
            failure.at(line, column)
        })?;
    }
    Ok(())
}

/// Declares a function of the text. One without a name, `u0:N`, is function number `N` of the module.
fn declare(module: &mut Definitions, func: &Function) -> Result<FuncId, Failure> {
    match &func.name {
        FuncName::Named(name) if !name.is_empty() => {
            Ok(module.declare_function(name, Linkage::Export, &func.signature)?)
        }
        &FuncName::User(0, index) => {
            let next = module.declarations().functions().len();
            if index as usize == next {
                return Ok(module.declare_anonymous_function(&func.signature));
            }
            let known = FuncId::new(index as usize);
            let message = || format!("u0:{index} is not declared; the next function of the module is u0:{next}");
            module.declarations().function(known).map(|_| known).ok_or_else(|| Failure::new(Status::Module, message()))
        }
        name => Err(Failure::new(
            Status::Module,
            format!("a function of a module needs a name, as in `%name`, not `{name}`"),
        )),
    }
}

/// Declares and defines a data object of the text.
fn define_data(module: &mut Definitions, object: &reader::DataObject) -> Result<(), Failure> {
    let kind = match object.writable {
        _ if object.tls => DataKind::ThreadLocal,
        true => DataKind::Writable,
        false => DataKind::ReadOnly,
    };
    let id = match &object.name {
        FuncName::Named(name) => module.declare_data(name, Linkage::Export, kind)?,
        FuncName::User(1, index) if *index as usize == module.declarations().data_objects().len() => {
            module.declare_anonymous_data(kind)
        }
        FuncName::User(1, index) if module.declarations().data_object(DataId::new(*index as usize)).is_some() => {
            DataId::new(*index as usize)
        }
        name => return Err(Failure::new(Status::Module, format!("{name} is not declared as data"))),
    };
    let (mut bytes, mut pointers, mut size) = (Vec::new(), Vec::new(), 0_u64);
    for item in &object.items {
        let new = match item {
            reader::DataItem::Zero(count) => {
                size = size.saturating_add(*count);
                continue;
            }
            reader::DataItem::Bytes(new) => &new[..],
            reader::DataItem::Address { symbol, offset } => {
                pointers.push(DataPointer { offset: size, symbol: SymbolName::from(symbol), addend: *offset });
                &[0; 8]
            }
        };
        if size > MAX_DATA_BYTES {
            return Err(Failure::new(Status::Limit, format!("more than {MAX_DATA_BYTES} initial bytes")));
        }
        bytes.resize(size as usize, 0);
        bytes.extend_from_slice(new);
        size += new.len() as u64;
    }
    // Zeros at the end are not stored, if the object has nothing else.
    let description = match &bytes[..] {
        [] => DataDescription::zeros(size),
        _ if size > MAX_DATA_BYTES => {
            return Err(Failure::new(Status::Limit, format!("more than {MAX_DATA_BYTES} initial bytes")));
        }
        _ => {
            bytes.resize(size as usize, 0);
            DataDescription::bytes(bytes)
        }
    };
    let description = description.with(|data| (data.align, data.pointers) = (object.align, pointers));
    Ok(module.define_data(id, &description)?)
}

entries! {
    /// Declares and defines the functions and data objects of a text in CLIF, which need not end in a zero byte. A
    /// name of the text, `%name`, is the exported symbol `name`; `u0:N` is function number `N` of the module. A
    /// signature without a calling convention has C's. The lines `test`, `set` and `target` have no effect.
    ///
    /// An error has the line and column of what is wrong. Functions before it stay defined.
    fn kp_module_add_text(module: Handle<Module>, text: Array<'_, u8>, length: usize; error) {
        let text = text.get(length, "text")?;
        module.with(|module| add(module.open()?, text))
    }
}
