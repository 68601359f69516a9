//! Checks that the types that threads share are `Send` and `Sync`.

use kingpost_codegen::{Batch, CompileError, Compiler, Context, Options, Settings, Stats};

#[test]
fn everything_may_be_sent_and_shared() {
    fn check<T: Send + Sync>() {}
    check::<Compiler>();
    check::<Context>();
    check::<Options>();
    check::<Settings>();
    check::<Batch>();
    check::<Stats>();
    check::<CompileError>();
}
