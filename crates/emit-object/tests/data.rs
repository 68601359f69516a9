//! Checks that data objects whose fields contradict each other are errors, in every build.

use kingpost_emit_object::{ObjectError, ObjectOptions, write};
use kingpost_mach::{DataFault, DataObject, DataPointer, ModuleBuffer, SymbolName};
use target_lexicon::triple;

fn written(change: impl FnOnce(&mut DataObject)) -> Result<usize, ObjectError> {
    let mut object = DataObject {
        placement: Default::default(),
        name: SymbolName::named("d"),
        align: 8,
        writable: false,
        tls: false,
        bytes: vec![0; 8],
        size: 8,
        pointers: vec![],
    };
    change(&mut object);
    write(&triple!("x86_64-unknown-linux-gnu"), &ModuleBuffer::default(), &[object], ObjectOptions::default())
        .map(|bytes| bytes.len())
}

#[test]
fn contradictions_are_refused() {
    assert!(written(|_| {}).is_ok());
    let refused = |fault| Err(ObjectError::Data("%d".into(), fault));
    for align in [0, 3, 1 << 40] {
        assert_eq!(written(|object| object.align = align), refused(DataFault::Alignment(align)));
    }
    assert_eq!(written(|object| object.size = 7), refused(DataFault::Size { size: 7, initial: 8 }));
    let pointer = DataPointer { offset: 1, symbol: SymbolName::named("d"), addend: 0 };
    assert_eq!(written(|object| object.pointers.push(pointer)), refused(DataFault::Pointer { offset: 1 }));
}
