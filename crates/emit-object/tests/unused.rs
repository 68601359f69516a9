//! Checks that local functions whose calls are all inlined are left out of objects, and that nothing else is.

use kingpost_codegen::module::{DataDescription, DataKind, Linkage, Module};
use kingpost_codegen::{Compiler, OptLevel, Settings};
use kingpost_emit_object::{ObjectModule, ObjectOptions};
use object::{Object, ObjectSymbol};
use target_lexicon::triple;

/// `caller` calls `small`. Nothing calls `idle` and `large`.
const TEXT: &str = "
function %large(i64) -> i64 system_v {
    fn0 = %large(i64) -> i64 system_v
block0(v0: i64):
    v1 = call fn0(v0)
    v2 = call fn0(v1)
    return v2
}
function %small(i64) -> i64 system_v {
    fn0 = %large(i64) -> i64 system_v
block0(v0: i64):
    return_at_once
}
function %idle(i64) -> i64 system_v {
block0(v0: i64):
    return v0
}
function %caller(i64) -> i64 system_v {
    fn0 = %small(i64) -> i64 system_v
block0(v0: i64):
    v1 = call fn0(v0)
    v2 = call fn0(v1)
    other_uses
    return RESULT
}";

fn names(small: Linkage, has_inlining: bool, other_uses: &str, change: impl FnOnce(&mut ObjectModule)) -> Vec<String> {
    names_with(["v1 = iadd v0, v0\n    return v1", "v2"], small, has_inlining, other_uses, change)
}

/// Returns the names of the functions of the object. `body` is the body of
/// `small`, `result` the value that `caller` returns, and `change` changes the module after
/// its functions are defined.
fn names_with(
    [body, result]: [&str; 2],
    small: Linkage,
    has_inlining: bool,
    other_uses: &str,
    change: impl FnOnce(&mut ObjectModule),
) -> Vec<String> {
    let settings = Settings::default().with(|settings| {
        settings.opt_level = OptLevel::Speed;
        settings.enable_inlining = has_inlining;
    });
    let compiler = Compiler::new(&triple!("x86_64-unknown-linux-gnu"), settings, &[]).unwrap();
    let mut module = ObjectModule::new(compiler, ObjectOptions::default());
    let text = TEXT.replace("return_at_once", body).replace("other_uses", other_uses).replace("RESULT", result);
    let mut functions = Vec::new();
    for function in kingpost_reader::parse_functions(&text).unwrap() {
        let name = function.name.to_string();
        let linkage = match &name[1..] {
            "small" => small,
            "large" | "idle" => Linkage::Local,
            _ => Linkage::Export,
        };
        functions.push((module.declare_function(&name[1..], linkage, &function.signature).unwrap(), function));
    }
    assert!(module.define_functions(&mut functions, 1).is_empty());
    change(&mut module);
    let bytes = module.finish().unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let symbols = file.symbols().filter(|symbol| symbol.kind() == object::SymbolKind::Text);
    let mut names: Vec<String> = symbols.map(|symbol| symbol.name().unwrap().to_string()).collect();
    names.sort();
    names
}

#[test]
fn inlined_local_functions_are_left_out() {
    assert_eq!(names(Linkage::Local, true, "", |_| {}), ["caller", "idle", "large"]);
}

#[test]
fn what_only_they_refer_to_is_left_out() {
    // The result, which is an address, is not used.
    let address = ["v1 = func_addr.i64 fn0\n    return v1", "v0"];
    assert_eq!(names_with(address, Linkage::Local, true, "", |_| {}), ["caller", "idle"]);
    assert_eq!(names_with(address, Linkage::Local, false, "", |_| {}), ["caller", "idle", "large", "small"]);
}

#[test]
fn others_remain() {
    let all = ["caller", "idle", "large", "small"];
    assert_eq!(names(Linkage::Local, false, "", |_| {}), all);
    assert_eq!(names(Linkage::Hidden, true, "", |_| {}), all);
    assert_eq!(names(Linkage::Export, true, "", |_| {}), all);
    assert_eq!(names(Linkage::Local, true, "v3 = func_addr.i64 fn0\n    store v3, v0", |_| {}), all);
}

#[test]
fn what_data_and_aliases_refer_to_remains() {
    let with_data = names(Linkage::Local, true, "", |module| {
        let table = module.declare_data("table", Linkage::Export, DataKind::ReadOnly).unwrap();
        let small = module.declarations().function_named("small").unwrap();
        let mut data = DataDescription::zeros(8);
        data.point_to_function(0, small);
        module.define_data(table, &data).unwrap();
    });
    assert_eq!(with_data, ["caller", "idle", "large", "small"]);
    let with_alias = names(Linkage::Local, true, "", |module| {
        let small = module.declarations().function_named("small").unwrap();
        let signature = module.declarations().function(small).unwrap().signature.clone();
        let alias = module.declare_function("also_small", Linkage::Export, &signature).unwrap();
        module.define_function_alias(alias, small).unwrap();
    });
    assert_eq!(with_alias, ["also_small", "caller", "idle", "large", "small"]);
}
