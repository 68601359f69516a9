//! Checks that gdb shows the variables of a source program by name, with their current values.
#![cfg(all(feature = "object", target_os = "linux", target_arch = "x86_64"))]

use kingpost::codegen::ALLOCATORS;
use kingpost::prelude::*;
use std::process::Command;

/// Returns an object with this function:
///
/// ```text
/// 1  fn squares(n) {
/// 2      total = 0; i = 1; last = 0;
/// 3      while (i <= n) {
/// 4          total = total + i * i;
/// 5          step(total);
/// 6          last = i;
/// 7          i = i + 1;
/// 8      }
/// 9      return total * 10 + last; }
/// ```
fn program(allocator: &str, opt_level: OptLevel) -> Vec<u8> {
    let settings = Settings::default().with(|settings| {
        settings.regalloc_algorithm = allocator.into();
        settings.opt_level = opt_level;
        settings.debug_values = true;
        settings.verify_each = true;
    });
    let options = ObjectOptions::default().with(|options| options.source = "squares.lang".into());
    let mut module = ObjectModule::new(Compiler::baseline(settings).unwrap(), options);
    let mut signature = module.signature();
    signature.params.push(AbiParam::new(I64));
    let step = module.declare_function("step", Linkage::Import, &signature).unwrap();
    signature.returns.push(AbiParam::new(I64));
    let id = module.declare_function("squares", Linkage::Export, &signature).unwrap();
    let (mut func, mut scratch) = (Function::new(FuncName::default(), signature), FrontendContext::default());
    let mut b = FunctionBuilder::new(&mut func, &mut scratch);
    let [entry, head, body, after] = [(); 4].map(|()| b.create_block());
    let [n, total, i, last] = ["n", "total", "i", "last"].map(|name| {
        let variable = b.declare_var(I64);
        b.set_var_name(variable, name);
        variable
    });
    b.append_function_params(entry);
    b.switch_to_block(entry);
    b.set_srcloc(SourceLoc(2));
    let argument = b.block_params(entry)[0];
    b.def_var(n, argument);
    let [zero, one] = [0, 1].map(|number| b.ins().iconst(I64, number));
    b.def_var(total, zero);
    b.def_var(i, one);
    b.def_var(last, zero);
    b.ins().jump(head, &[]);
    b.switch_to_block(head);
    b.set_srcloc(SourceLoc(3));
    let (left, right) = (b.use_var(i), b.use_var(n));
    let goes_on = b.ins().icmp(IntCC::SignedLessThanOrEqual, left, right);
    b.ins().brif(goes_on, body, &[], after, &[]);
    b.switch_to_block(body);
    b.set_srcloc(SourceLoc(4));
    let now = b.use_var(i);
    let square = b.ins().imul(now, now);
    let before = b.use_var(total);
    let sum = b.ins().iadd(before, square);
    b.def_var(total, sum);
    b.set_srcloc(SourceLoc(5));
    let step = module.declare_func_in_func(step, b.func);
    b.ins().call(step, &[sum]);
    b.set_srcloc(SourceLoc(6));
    b.def_var(last, now);
    b.set_srcloc(SourceLoc(7));
    let next = b.ins().iadd_imm(now, 1);
    b.def_var(i, next);
    b.ins().jump(head, &[]);
    b.switch_to_block(after);
    b.set_srcloc(SourceLoc(9));
    let (sum, last) = (b.use_var(total), b.use_var(last));
    let scaled = b.ins().imul_imm(sum, 10);
    let result = b.ins().iadd(scaled, last);
    b.ins().return_(&[result]);
    b.seal_all_blocks();
    b.finalize().unwrap();
    module.define_function(id, &mut func).unwrap();
    module.finish().unwrap()
}

const MAIN: &str = "long squares(long); void step(long total) {} int main(void) { return squares(4) != 304; }";

#[test]
fn gdb_shows_variables_by_name() {
    let has = |tool: &str| Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !has("gdb") || !has("cc") {
        assert!(std::env::var_os("CI").is_none(), "CI has gdb and cc");
        println!("SKIPPED: gdb_shows_variables_by_name: no gdb or no cc");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("main.c"), MAIN).unwrap();
    for (allocator, _) in ALLOCATORS {
        for opt_level in [OptLevel::None, OptLevel::Speed] {
            std::fs::write(at("squares.o"), program(allocator, opt_level)).unwrap();
            let mut cc = Command::new("cc");
            let cc = cc.current_dir(folder.path()).args(["-g", "main.c", "squares.o", "-o", "squares"]);
            assert!(cc.status().unwrap().success());
            assert!(Command::new(at("squares")).status().unwrap().success(), "{allocator} {opt_level}");
            let mut gdb = Command::new("gdb");
            gdb.args(["-nx", "-batch", "-ex", "break squares.lang:5", "-ex", "run"]);
            for _ in 0..4 {
                gdb.args(["-ex", "info locals", "-ex", "continue"]);
            }
            let output = gdb.arg(at("squares")).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            for (i, total) in [(1, 1), (2, 5), (3, 14), (4, 30)] {
                let locals = ["n = 4\n".to_string(), format!("total = {total}\n"), format!("i = {i}\n")];
                let shown = text.split("Breakpoint 1, ").nth(i).unwrap_or_default();
                let is_shown = locals.iter().all(|local| shown.contains(local));
                assert!(is_shown, "{allocator} {opt_level}: {locals:?} at stop {i} of\n{text}");
                assert!(!shown.contains("v0 ="), "only variables of the source: {text}");
                // It gets its next value after the stop.
                let last = [format!("last = {}\n", i - 1), "last = <optimized out>\n".into()];
                assert!(last.iter().any(|local| shown.contains(local)), "{allocator} {opt_level}: {text}");
            }
        }
    }
}
