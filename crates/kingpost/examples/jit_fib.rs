//! Builds a function with a loop, using variables, compiles it into memory and calls it:
//! `cargo run --example jit_fib`.
#![allow(unsafe_code, reason = "the compiled function is called")]

use kingpost::prelude::*;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let fib = Fib::compile()?;
    println!("fib(50) = {}", fib.call(50));
    Ok(())
}

struct Fib {
    module: JitModule,
    id: FuncId,
}

impl Fib {
    fn compile() -> Result<Fib, Box<dyn Error>> {
        let mut module = JitModule::new(Compiler::host(Settings::default())?);
        let mut signature = module.signature();
        signature.params.push(AbiParam::new(I64));
        signature.returns.push(AbiParam::new(I64));
        let id = module.declare_function("fib", Linkage::Export, &signature)?;

        let mut func = Function::new(FuncName::default(), signature);
        let mut scratch = FrontendContext::default();
        let mut b = FunctionBuilder::new(&mut func, &mut scratch);
        let [entry, head, body, exit] = [(); 4].map(|()| b.create_block());
        let [n, this, next] = [(); 3].map(|()| b.declare_var(I64));

        // n = argument; this = 0; next = 1;
        b.append_function_params(entry);
        b.switch_to_block(entry);
        let argument = b.block_params(entry)[0];
        b.def_var(n, argument);
        for (variable, start) in [(this, 0), (next, 1)] {
            let start = b.ins().iconst(I64, start);
            b.def_var(variable, start);
        }
        b.ins().jump(head, &[]);

        // while n != 0 {
        b.switch_to_block(head);
        let left = b.use_var(n);
        b.ins().brif(left, body, &[], exit, &[]);

        // (this, next, n) = (next, this + next, n - 1);
        b.switch_to_block(body);
        let (now, then) = (b.use_var(this), b.use_var(next));
        let sum = b.ins().iadd(now, then);
        let less = b.ins().iadd_imm(left, -1);
        b.def_var(this, then);
        b.def_var(next, sum);
        b.def_var(n, less);
        b.ins().jump(head, &[]);

        // }
        b.switch_to_block(exit);
        let result = b.use_var(this);
        b.ins().return_(&[result]);
        b.seal_all_blocks();
        b.finalize()?;

        module.define_function(id, &mut func)?;
        module.finalize_definitions()?;
        Ok(Fib { module, id })
    }

    fn call(&self, n: i64) -> i64 {
        // SAFETY: the function was built with this type; it reads and writes no memory.
        let function = unsafe { self.module.get::<extern "C" fn(i64) -> i64>(self.id) };
        function.expect("it is loaded")(n)
    }
}

#[test]
fn fib_of_50() {
    let fib = Fib::compile().unwrap();
    assert_eq!([0, 1, 2, 10, 50].map(|n| fib.call(n)), [0, 1, 1, 55, 12_586_269_025]);
}
