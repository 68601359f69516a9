//! Conversion of data directives to the data objects of an object file.

use kingpost_mach::{DataObject, DataPointer, SymbolName};
use kingpost_reader::DataItem;
use std::fmt;

/// Largest number of initial bytes of one object; further zeros may only be at its end.
const MAX_INITIAL_BYTES: u64 = 1 << 28;

/// Fault of a data object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataFault {
    /// Start of its directive, in bytes of the text.
    pub start: usize,
    /// Message.
    pub text: String,
}

impl fmt::Display for DataFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for DataFault {}

/// Returns the data objects of directives.
///
/// # Errors
/// If an object has too many initial bytes.
pub fn data_objects(objects: &[kingpost_reader::DataObject]) -> Result<Vec<DataObject>, DataFault> {
    objects.iter().map(data_object).collect()
}

/// Returns the data objects of directives for the interpreter.
///
/// # Errors
/// The error of [`data_objects`].
pub(crate) fn data_blocks(
    objects: &[kingpost_reader::DataObject],
) -> Result<Vec<kingpost_interpreter::DataBlock>, DataFault> {
    let for_objects = data_objects(objects)?;
    let blocks =
        objects.iter().zip(for_objects).map(|(object, data)| {
            let symbols = object.items.iter().filter_map(|item| match item {
                DataItem::Address { symbol, .. } => Some(symbol.clone()),
                DataItem::Bytes(_) | DataItem::Zero(_) => None,
            });
            let pointers = data.pointers.iter().zip(symbols).map(|(pointer, symbol)| {
                kingpost_interpreter::DataPointer { offset: pointer.offset, symbol, addend: pointer.addend }
            });
            kingpost_interpreter::DataBlock {
                name: object.name.clone(),
                align: data.align,
                writable: data.writable,
                pointers: pointers.collect(),
                bytes: data.bytes,
                size: data.size,
            }
        });
    Ok(blocks.collect())
}

fn data_object(object: &kingpost_reader::DataObject) -> Result<DataObject, DataFault> {
    let (mut bytes, mut pointers, mut size) = (Vec::new(), Vec::new(), 0_u64);
    for item in &object.items {
        match item {
            DataItem::Zero(count) => size += count,
            DataItem::Bytes(new) => {
                pad(object, &mut bytes, size)?;
                bytes.extend_from_slice(new);
                size += new.len() as u64;
            }
            DataItem::Address { symbol, offset } => {
                pad(object, &mut bytes, size)?;
                pointers.push(DataPointer { offset: size, symbol: SymbolName::from(symbol), addend: *offset });
                bytes.extend_from_slice(&[0; 8]);
                size += 8;
            }
        }
    }
    let (name, align, writable, tls) = (SymbolName::from(&object.name), object.align, object.writable, object.tls);
    Ok(DataObject { name, align, writable, tls, bytes, size, pointers, placement: Default::default() })
}

/// Appends zeros up to `size`, before bytes that are not zero.
fn pad(object: &kingpost_reader::DataObject, bytes: &mut Vec<u8>, size: u64) -> Result<(), DataFault> {
    if size > MAX_INITIAL_BYTES {
        let text = format!("data object {}: more than {MAX_INITIAL_BYTES} initial bytes", object.name);
        return Err(DataFault { start: object.start, text });
    }
    bytes.resize(size as usize, 0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::extfunc::FuncName;

    #[test]
    fn zeros_at_the_end_cost_nothing() {
        let object = |items| kingpost_reader::DataObject {
            name: FuncName::Named("d".into()),
            align: 8,
            writable: true,
            tls: false,
            items,
            start: 0,
        };
        let address = DataItem::Address { symbol: FuncName::User(0, 1), offset: -4 };
        let items = vec![DataItem::Bytes(vec![1]), DataItem::Zero(7), address, DataItem::Zero(1 << 40)];
        let data = data_object(&object(items)).unwrap();
        assert_eq!((data.size, data.bytes.len(), data.pointers[0].offset), ((1 << 40) + 16, 16, 8));
        let items = vec![DataItem::Zero(1 << 40), DataItem::Bytes(vec![1])];
        assert!(data_object(&object(items)).is_err());
    }
}
