//! Checks that a client written for any kind of module runs from an object file and from memory.
#![allow(unsafe_code, reason = "compiled functions are called")]
#![cfg(target_arch = "x86_64")]

mod common;

use common::{CONVENTION, parse};
use kingpost_codegen::module::{DataDescription, DataKind, FuncId, Linkage, Module, ModuleError, ModuleReloc};
use kingpost_codegen::{ALLOCATORS, CompileError, Compiler, Settings};
#[cfg(unix)]
use kingpost_emit_object::{ObjectError, ObjectModule, ObjectOptions};
use kingpost_ir::signature::{AbiParam, Signature};
use kingpost_ir::types::I64;
use kingpost_jit::{JitModule, LoadError, MissingFunction};
use kingpost_mach::{RelocKind, SymbolName};
#[cfg(unix)]
use std::process::Command;
use std::sync::Arc;
use target_lexicon::Triple;

fn compiler(allocator: &str, is_pic: bool) -> Compiler {
    let settings = Settings::default().with(|settings| {
        settings.regalloc_algorithm = allocator.into();
        // Windows requires it.
        settings.is_pic = is_pic || cfg!(windows);
        settings.verify_each = true;
    });
    Compiler::new(&Triple::host(), settings, &[]).unwrap()
}

fn signature(params: usize) -> Signature {
    let mut signature = Signature::new(CONVENTION);
    signature.params.extend((0..params).map(|_| AbiParam::new(I64)));
    signature.returns.push(AbiParam::new(I64));
    signature
}

/// Fills a module: `entry(x)` returns `labs(x) + 2 * x + counter++ + 100`. It uses other functions, anonymous ones,
/// pointers in data, and a function that first fails to compile.
fn fill<M: Module>(m: &mut M) -> FuncId {
    let twice = m.declare_function("twice", Linkage::Local, &signature(1)).unwrap();
    let labs = m.declare_function("labs", Linkage::Import, &signature(1)).unwrap();
    let entry = m.declare_function("entry", Linkage::Export, &signature(1)).unwrap();
    let hidden = m.declare_anonymous_function(&signature(0));
    let bytes = m.declare_function("bytes", Linkage::Hidden, &signature(0)).unwrap();
    let counter = m.declare_data("counter", Linkage::Local, DataKind::Writable).unwrap();
    let table = m.declare_data("table", Linkage::Export, DataKind::ReadOnly).unwrap();
    let zeros = m.declare_anonymous_data(DataKind::Writable);

    // An invalid function leaves the module usable, and can be defined later.
    let bad = "function u0:0(i64) -> i64 system_v { block0(v0: i64): return }";
    let error = m.define_function(twice, &mut parse(bad)).unwrap_err();
    assert!(matches!(error, ModuleError::Compilation { error, .. } if matches!(*error, CompileError::Invalid(_))));
    let undeclared = "function %x(i64) -> i64 system_v {
        sig0 = (i64) -> i64 system_v
        fn0 = u0:77 sig0
        block0(v0: i64): v1 = call fn0(v0) return v1 }";
    let error = m.define_function(twice, &mut parse(undeclared)).unwrap_err();
    assert_eq!(error, ModuleError::Undeclared(SymbolName::User(0, 77)));
    let wrong = "function u0:0(i64, i64) -> i64 system_v { block0(v0: i64, v1: i64): return v0 }";
    let error = m.define_function(twice, &mut parse(wrong)).unwrap_err();
    assert!(matches!(error, ModuleError::IncompatibleSignature { .. }));

    let good = "function u0:0(i64) -> i64 system_v { block0(v0: i64): v1 = iadd v0, v0 return v1 }";
    m.define_function(twice, &mut parse(good)).unwrap();
    let again = m.define_function(twice, &mut parse(good));
    assert_eq!(again, Err(ModuleError::DuplicateDefinition(SymbolName::named("twice"))));
    let imported = m.define_function(labs, &mut parse(good));
    assert_eq!(imported, Err(ModuleError::InvalidImportDefinition(SymbolName::named("labs"))));

    // `hidden` counts: it loads, adds one, stores. It also counts in `zeros`, and adds that count times zero.
    let mut count = parse(
        "function u0:3() -> i64 system_v {
            gv0 = symbol colocated u1:0
            gv1 = symbol colocated u1:2
        block0:
            v0 = symbol_value.i64 gv0
            v1 = load.i64 v0
            v2 = iconst.i64 1
            v3 = iadd v1, v2
            store v3, v0
            v4 = symbol_value.i64 gv1
            v5 = load.i64 v4+4088
            v6 = iadd v5, v1
            return v6
        }",
    );
    m.define_function(hidden, &mut count).unwrap();

    // `bytes` is machine code: it loads the second entry of `table` and calls it.
    let code = [
        &[0x48, 0x83, 0xec, 0x28][..],   // sub rsp, 40
        &[0x48, 0x8d, 0x05, 0, 0, 0, 0], // lea rax, [rip + table]
        &[0xff, 0x50, 0x08],             // call [rax + 8]
        &[0x48, 0x83, 0xc4, 0x28, 0xc3], // add rsp, 40; ret
    ]
    .concat();
    let reloc = ModuleReloc { offset: 7, kind: RelocKind::X86PcRel4, name: SymbolName::User(1, 1), addend: -4 };
    let outside = ModuleReloc { offset: 16, ..reloc.clone() };
    let error = m.define_function_bytes(bytes, 1, &code, &[outside]).unwrap_err();
    assert_eq!(error, ModuleError::OutOfBounds { name: SymbolName::named("bytes"), offset: 16 });
    assert!(matches!(m.define_function_bytes(bytes, 3, &code, &[]), Err(ModuleError::Alignment { align: 3, .. })));
    m.define_function_bytes(bytes, 32, &code, &[reloc]).unwrap();

    let mut description = DataDescription::zeros(16);
    description.point_to_function(8, hidden);
    description.point_to_function(0, twice);
    let mut beyond = description.clone();
    beyond.point_to_data(9, counter, 0);
    assert!(matches!(m.define_data(table, &beyond), Err(ModuleError::OutOfBounds { offset: 9, .. })));
    m.define_data(table, &description).unwrap();
    assert!(matches!(m.define_data(table, &description), Err(ModuleError::DuplicateDefinition(_))));
    m.define_data(counter, &DataDescription::bytes(100u64.to_le_bytes())).unwrap();
    m.define_data(zeros, &DataDescription::zeros(4096).with(|data| data.align = 1 << 14)).unwrap();

    // The last functions are compiled together. One of them fails.
    let mut caller = parse(
        "function u0:2(i64) -> i64 system_v {
            sig0 = (i64) -> i64 system_v
            sig1 = () -> i64 system_v
            fn0 = colocated u0:0 sig0
            fn1 = %labs sig0
            fn2 = colocated u0:4 sig1
        block0(v0: i64):
            v1 = call fn0(v0)
            v2 = call fn1(v0)
            v3 = call fn2()
            v4 = iadd v1, v2
            v5 = iadd v4, v3
            return v5
        }",
    );
    caller.name = kingpost_ir::extfunc::FuncName::Named("anything".into());
    let mut batch = [(twice, parse(good)), (entry, caller.clone()), (entry, caller)];
    let errors = m.define_functions(&mut batch, 2);
    assert_eq!(errors.len(), 2);
    assert_eq!(errors[0], (0, ModuleError::DuplicateDefinition(SymbolName::named("twice"))));
    assert_eq!(errors[1], (2, ModuleError::DuplicateDefinition(SymbolName::named("entry"))));
    assert_eq!(batch[1].1.name.to_string(), "%anything", "names are the client's");
    entry
}

/// Calls a loaded function of one argument.
fn call(address: *const u8, x: i64) -> i64 {
    // SAFETY: the functions of these tests take and return integers in the C convention.
    let function = unsafe { std::mem::transmute::<*const u8, extern "C" fn(i64) -> i64>(address) };
    function(x)
}

#[test]
fn from_memory() {
    for (allocator, _) in ALLOCATORS {
        let mut m = JitModule::new(compiler(allocator, false));
        let entry = fill(&mut m);
        assert_eq!(m.function_address(entry), None);
        m.finalize_definitions().unwrap();
        let address = m.function_address(entry).unwrap();
        assert_eq!((call(address, -5), call(address, 7)), (-10 + 5 + 100, 14 + 7 + 101));
        assert_eq!(m.address("entry"), Some(address));
        assert_eq!(m.function_at(address as usize), Some((&SymbolName::named("entry"), 0)));
        let zeros = m.declarations().data_objects().last().unwrap().0;
        assert_eq!(m.data_address(zeros).unwrap() as usize % (1 << 14), 0);

        // More definitions can follow, and call loaded functions.
        let more = m.declare_function("more", Linkage::Export, &signature(1)).unwrap();
        let later = m.declare_function("later", Linkage::Local, &signature(1)).unwrap();
        let mut func = parse(
            "function u0:5(i64) -> i64 system_v {
                sig0 = (i64) -> i64 system_v
                fn0 = u0:2 sig0
                fn1 = u0:6 sig0
            block0(v0: i64): v1 = call fn0(v0) v2 = call fn1(v1) return v2 }",
        );
        m.define_function(more, &mut func).unwrap();
        assert_eq!(m.finalize_definitions(), Err(LoadError::Undefined(SymbolName::named("later"))));
        assert_eq!(m.function_address(more), None);
        let mut func = parse("function u0:6(i64) -> i64 system_v { block0(v0: i64): v1 = iadd v0, v0 return v1 }");
        m.define_function(later, &mut func).unwrap();
        m.finalize_definitions().unwrap();
        m.finalize_definitions().unwrap();
        assert_eq!(call(m.function_address(more).unwrap(), 1), 2 * (2 + 1 + 102));
        assert_eq!(call(address, 0), 103);
    }
}

#[cfg(unix)]
#[test]
fn from_an_object() {
    if Command::new("cc").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "CI has a C compiler");
        eprintln!("SKIPPED: from_an_object: no cc");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let main = "long entry(long); extern long (*table[2])(long);
        long twice(long x) { return 1; } /* another one: ours is local */
        int main() { return !(entry(-5) == 95 && entry(7) == 122 && table[0](4) == 8); }";
    std::fs::write(at("main.c"), main).unwrap();
    for (allocator, _) in ALLOCATORS {
        for pic in [false, true] {
            let mut m = ObjectModule::new(
                compiler(allocator, pic),
                ObjectOptions::default().with(|options| options.trap_table = true),
            );
            fill(&mut m);
            std::fs::write(at("module.o"), m.finish().unwrap()).unwrap();
            let mut cc = Command::new("cc");
            cc.arg(if pic { "-pie" } else { "-no-pie" }).arg("-Wl,--fatal-warnings");
            let link = cc.args([at("main.c"), at("module.o")]).arg("-o").arg(at("a")).output().unwrap();
            assert!(link.status.success(), "{}", String::from_utf8_lossy(&link.stderr));
            assert!(Command::new(at("a")).status().unwrap().success(), "{allocator}, pic {pic}");
        }
    }
}

#[cfg(unix)]
#[test]
fn objects_say_what_is_missing() {
    let new = || ObjectModule::new(compiler("linear", false), ObjectOptions::default());
    let mut m = new();
    let f = m.declare_function("f", Linkage::Export, &signature(0)).unwrap();
    m.declare_function("g", Linkage::Local, &signature(0)).unwrap();
    let mut func = parse(
        "function u0:0() -> i64 system_v {
            sig0 = () -> i64 system_v
            fn0 = u0:1 sig0
        block0: v0 = call fn0() return v0 }",
    );
    m.define_function(f, &mut func).unwrap();
    assert_eq!(m.finish(), Err(ObjectError::Undefined("g".into())));
    let mut m = new();
    let odd = m.declare_data("odd\0", Linkage::Export, DataKind::ReadOnly).unwrap();
    m.define_data(odd, &DataDescription::zeros(1)).unwrap();
    assert_eq!(m.finish(), Err(ObjectError::Name("odd\0".into())));
}

extern "C" fn ours(x: f64) -> f64 {
    -x
}

extern "C" fn ceil(x: f64) -> f64 {
    x.ceil()
}

/// Checks the order of lookups of symbols: given symbols, then lookups from the last to the first, then symbols of
/// the process. Library routines are found in this order, too, under the names that the client chooses.
#[test]
fn imports_are_found_in_order() {
    let text = "function %f(f64) -> f64 system_v {
            sig0 = (f64) -> f64 system_v
            fn0 = %CeilF64 sig0
            fn1 = %given sig0
            fn2 = %looked_up sig0
            fn3 = %floor sig0
        block0(v0: f64):
            v1 = ceil v0
            v2 = call fn1(v1)
            v3 = call fn2(v2)
            v4 = call fn3(v3)
            return v4
        }";
    let mut m = JitModule::new(compiler("linear", false));
    m.symbol("given", ours as *const u8);
    m.symbol_lookup(Box::new(|name| (name == "looked_up").then_some(std::ptr::dangling())));
    m.symbol_lookup(Box::new(|name| (name == "looked_up").then_some(ours as *const u8)));
    m.definitions_mut().set_libcall_names(Arc::new(|libcall| format!("my_{libcall}")));
    let mut func = parse(text);
    let f = m.declare_function("f", Linkage::Export, &func.signature).unwrap();
    m.define_function(f, &mut func).unwrap();
    assert_eq!(m.finalize_definitions(), Err(LoadError::Undefined(SymbolName::named("my_CeilF64"))));
    m.symbol("my_CeilF64", ceil as *const u8);
    m.finalize_definitions().unwrap();
    // SAFETY: the function takes and returns a float in the C convention.
    let function = unsafe { m.get::<extern "C" fn(f64) -> f64>(f) }.unwrap();
    assert_eq!((function(1.5), function(-1.5)), (2.0, -1.0));
    assert_eq!(kingpost_jit::process_symbol("no such symbol"), None);
}

#[test]
fn a_missing_function_has_a_reason() {
    let mut m = JitModule::new(compiler("spill_all", true));
    let [imported, undefined, defined] =
        [("puts", Linkage::Import), ("later", Linkage::Local), ("now", Linkage::Export)]
            .map(|(name, linkage)| m.declare_function(name, linkage, &signature(1)).unwrap());
    m.define_function(defined, &mut parse("function u0:0(i64) -> i64 system_v { block0(v0: i64): return v0 }"))
        .unwrap();
    // SAFETY: no function is called.
    let reason = |m: &JitModule, id| unsafe { m.get::<extern "C" fn(i64) -> i64>(id) }.map(drop).unwrap_err();
    assert_eq!(reason(&m, imported), MissingFunction::Imported(SymbolName::named("puts")));
    assert_eq!(reason(&m, undefined), MissingFunction::NotDefined(SymbolName::named("later")));
    assert_eq!(reason(&m, defined), MissingFunction::NotFinalized(SymbolName::named("now")));
    assert_eq!(reason(&m, FuncId::from_u32(7)), MissingFunction::Undeclared(FuncId::from_u32(7)));
    assert_eq!(
        reason(&m, defined).to_string(),
        "%now is not loaded: `finalize_definitions` after its definition is missing"
    );
    m.finalize_definitions().unwrap();
    // SAFETY: the function has this type, and only returns its argument.
    assert_eq!(unsafe { m.get::<extern "C" fn(i64) -> i64>(defined) }.unwrap()(5), 5);
}

#[test]
fn an_alias_is_a_second_name() {
    let mut m = JitModule::new(compiler("ssa", true));
    let [target, alias, late, user, imported] = [
        ("target", Linkage::Local),
        ("alias", Linkage::Export),
        ("late", Linkage::LinkOnce),
        ("user", Linkage::Export),
        ("imported", Linkage::Import),
    ]
    .map(|(name, linkage)| m.declare_function(name, linkage, &signature(1)).unwrap());
    let named = SymbolName::named;
    let early = m.define_function_alias(alias, target);
    assert_eq!(early, Err(ModuleError::UndefinedTarget { name: named("alias"), target: named("target") }));
    let calls = "function u0:0(i64) -> i64 system_v {
        sig0 = (i64) -> i64 system_v
        fn0 = u0:1 sig0
        block0(v0: i64): v1 = call fn0(v0) v2 = iadd v1, v1 return v2 }";
    m.define_function(user, &mut parse(calls)).unwrap();
    let plus = "function u0:0(i64) -> i64 system_v { block0(v0: i64): v2 = iconst.i64 1 v1 = iadd v0, v2 return v1 }";
    m.define_function(target, &mut parse(plus)).unwrap();
    m.define_function_alias(alias, target).unwrap();
    assert_eq!(m.define_function_alias(alias, target), Err(ModuleError::DuplicateDefinition(named("alias"))));
    assert_eq!(m.define_function_alias(imported, target), Err(ModuleError::InvalidImportDefinition(named("imported"))));
    let other = m.declare_function("other", Linkage::Local, &signature(2)).unwrap();
    assert!(matches!(m.define_function_alias(other, target), Err(ModuleError::IncompatibleSignature { .. })));
    m.finalize_definitions().unwrap();
    assert_eq!(call(m.function_address(user).unwrap(), 4), 10);

    // The alias of an alias, after the target is loaded.
    m.define_function_alias(late, alias).unwrap();
    m.finalize_definitions().unwrap();
    assert_eq!(m.address("late"), m.address("target"));
    // SAFETY: the function has this type, and only adds.
    assert_eq!(unsafe { m.get::<extern "C" fn(i64) -> i64>(late) }.unwrap()(4), 5);

    let [bytes, name, zeros] =
        [("bytes", DataKind::ReadOnly), ("name", DataKind::ReadOnly), ("zeros", DataKind::Writable)]
            .map(|(name, kind)| m.declare_data(name, Linkage::Export, kind).unwrap());
    m.define_data(bytes, &DataDescription::bytes(*b"text")).unwrap();
    assert_eq!(m.define_data_alias(zeros, bytes), Err(ModuleError::IncompatibleDeclaration("%zeros".into())));
    m.define_data_alias(name, bytes).unwrap();
    m.finalize_definitions().unwrap();
    assert_eq!(m.data_address(name), m.data_address(bytes));
}

/// Checks arguments in registers and on the stack, and a frame of so many pages that the system must be
/// asked for each of them in order.
#[test]
fn conventions_and_large_frames_are_those_of_the_system() {
    let text = "function %f(i64, f64, i64, f32, i64, i64, f64, i64) -> f64 system_v {
        ss0 = explicit_slot 400000
    block0(v0: i64, v1: f64, v2: i64, v3: f32, v4: i64, v5: i64, v6: f64, v7: i64):
        v18 = stack_addr.i64 ss0
        store v7, v18
        v8 = load.i64 v18
        v9 = iadd v0, v2
        v10 = iadd v4, v5
        v11 = iadd v9, v10
        v12 = iadd v11, v8
        v13 = fcvt_from_sint.f64 v12
        v14 = fpromote.f64 v3
        v15 = fadd v1, v14
        v16 = fadd v15, v6
        v17 = fadd v16, v13
        return v17
    }";
    for (allocator, _) in ALLOCATORS {
        let mut m = JitModule::new(compiler(allocator, true));
        let mut func = parse(text);
        let f = m.declare_function("f", Linkage::Export, &func.signature).unwrap();
        m.define_function(f, &mut func).unwrap();
        m.finalize_definitions().unwrap();
        // SAFETY: the function has this type, and only adds.
        let f = unsafe { m.get::<extern "C" fn(i64, f64, i64, f32, i64, i64, f64, i64) -> f64>(f) }.unwrap();
        assert_eq!(f(1, 0.5, 20, 0.25, 300, 4_000, 0.125, 50_000), 54_321.875, "{allocator}");
    }
}
