//! A function of a small language with named variables, for tests of debuggers.

use kingpost_ir::Value;
use kingpost_ir::builder::{ControlBuilder, ImmediateBuilder, InstBuilder};
use kingpost_ir::condcodes::IntCC;
use kingpost_ir::frontend::FunctionBuilder;
use kingpost_ir::function::SourceLoc;
use kingpost_ir::types::I64;

/// The source of the function. The loop calls `step` on line 5.
pub const SOURCE: &str = "\
fn squares(n) {
    let total = 0; let i = 1; let last = 0;
    while i <= n {
        total = total + i * i;
        step(total);
        last = i;
        i = i + 1;
    }
    return total * 10 + last;
}
";

/// Builds the function, whose parameter and result are an i64: the lines and variables of [`SOURCE`]. `step` builds a
/// call with an i64.
pub fn build(b: &mut FunctionBuilder<'_>, step: impl FnOnce(&mut FunctionBuilder<'_>, Value)) {
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
    [(total, zero), (i, one), (last, zero)].into_iter().for_each(|(variable, value)| b.def_var(variable, value));
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
    step(b, sum);
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
}
