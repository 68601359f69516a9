//! Checks that objects link with the system linker without a warning, and run.

use kingpost_emit_object::{ObjectOptions, write};
use kingpost_mach::{
    Buffer, DataObject, DataPointer, FunctionHead, JumpTables, ModuleBuffer, NoBranches, RelocKind, SymbolName,
    UnwindOp,
};
use kingpost_regalloc::PReg;
use std::process::Command;
use target_lexicon::triple;

/// Returns a module whose `main` calls `puts` through the PLT, with a string that it finds through a pointer in data,
/// and returns 7.
fn module() -> (ModuleBuffer, Vec<DataObject>) {
    let named = SymbolName::named;
    let mut b = Buffer::default();
    b.start(0);
    b.put1(0x55); // push rbp
    b.unwind(UnwindOp::CfaStackPointer(16));
    b.unwind(UnwindOp::Saved(PReg::int(5), 16));
    b.put(&[0x48, 0x8b, 0x3d]); // mov rdi, [rip + pointer]
    b.reloc(RelocKind::X86PcRel4, 0, -4);
    b.put4(0);
    b.put1(0xe8); // call puts
    b.reloc(RelocKind::X86CallPltRel4, 1, -4);
    b.put4(0);
    b.call();
    b.put(&[0xb8, 7, 0, 0, 0]); // mov eax, 7
    b.put1(0x5d); // pop rbp
    b.unwind(UnwindOp::Restored(PReg::int(5)));
    b.unwind(UnwindOp::CfaStackPointer(8));
    b.put1(0xc3);
    let mut module = ModuleBuffer::default();
    let head = FunctionHead::of_bytes(named("main"), 1);
    b.finish(head, &JumpTables::default(), &[named("pointer"), named("puts")], &NoBranches, &mut module).unwrap();
    let object = |name, bytes: &[u8], size, writable, pointers| DataObject {
        placement: Default::default(),
        name: named(name),
        align: 8,
        writable,
        tls: false,
        bytes: bytes.into(),
        size,
        pointers,
    };
    let to_text = DataPointer { offset: 0, symbol: named("text"), addend: 1 };
    let data = vec![
        object("text", b"!hello\0", 7, false, vec![]),
        object("pointer", &[0; 8], 8, false, vec![to_text]),
        object("room", &[], 4096, true, vec![]),
        object("counter", &[1], 4, true, vec![]),
    ];
    (module, data)
}

#[test]
fn cc_links_without_a_warning() {
    if Command::new("cc").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "CI has a C compiler");
        eprintln!("SKIPPED: cc_links_without_a_warning: no cc");
        return;
    }
    let (module, data) = module();
    let bytes = write(&triple!("x86_64-unknown-linux-gnu"), &module, &data, ObjectOptions::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (object, binary) = (dir.path().join("a.o"), dir.path().join("a"));
    std::fs::write(&object, bytes).unwrap();
    for flags in [&["-pie"][..], &["-no-pie"]] {
        let link = Command::new("cc")
            .args(flags)
            .arg("-Wl,--fatal-warnings")
            .arg(&object)
            .arg("-o")
            .arg(&binary)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&link.stderr).into_owned();
        assert!(link.status.success() && stderr.is_empty(), "{stderr}");
        if cfg!(target_arch = "x86_64") {
            let run = Command::new(&binary).output().unwrap();
            assert_eq!((run.status.code(), &run.stdout[..]), (Some(7), &b"hello\n"[..]));
        }
    }
}

#[test]
fn names_are_defined_once() {
    let (module, mut data) = module();
    data.push(data[0].clone());
    let result = write(&triple!("x86_64-unknown-linux-gnu"), &module, &data, ObjectOptions::default());
    assert_eq!(result.unwrap_err().to_string(), "symbol `text` is defined twice");
    data.pop();
    data[2].name = SymbolName::User(0, 1);
    data[3].name = SymbolName::named("u_0_1");
    let result = write(&triple!("x86_64-unknown-linux-gnu"), &module, &data, ObjectOptions::default());
    let alike = "`%u_0_1` and `u0:1` would be one symbol, `u_0_1`: rename one";
    assert_eq!(result.unwrap_err().to_string(), alike);
    // A definition of one name does not define the other.
    data[3].name = SymbolName::named("u_0_01");
    assert!(write(&triple!("x86_64-unknown-linux-gnu"), &module, &data, ObjectOptions::default()).is_ok());
    data[1].pointers[0].symbol = SymbolName::named("u_0_1");
    let result = write(&triple!("x86_64-unknown-linux-gnu"), &module, &data, ObjectOptions::default());
    assert_eq!(result.unwrap_err().to_string(), alike);
    let result = write(&triple!("riscv64gc-unknown-linux-gnu"), &module, &[], ObjectOptions::default());
    assert!(result.unwrap_err().to_string().contains("riscv64"));
}
