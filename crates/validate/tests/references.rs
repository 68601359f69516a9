//! Texts from which proofs begin, and places of values at heads.

use crate::compiled::{TARGETS, allocators};
use kingpost_codegen::compiled::ModuleBuffer;
use kingpost_codegen::settings::ValidateCode;
use kingpost_codegen::{Compiler, OptLevel, Options, Reference, Settings};
use kingpost_validate::{Feature, Head, Verdict};
use std::str::FromStr;
use target_lexicon::Triple;

/// Global values: loads from the context, one of them repeated in another block.
const GLOBALS: &str = "
function %globals(i64 vmctx, i64) -> i64 {
    gv0 = vmctx
    gv1 = load.i64 notrap aligned readonly gv0+8
    gv2 = load.i64 notrap aligned readonly gv1+16
    gv3 = iadd_imm.i64 gv2, 40
    gv4 = symbol %table+24
block0(v0: i64, v1: i64):
    v2 = symbol_value.i64 gv1
    v3 = load.i32 v2
    brif v3, block1, block2
block1:
    v4 = symbol_value.i64 gv3
    v5 = load.i64 v4
    v6 = iadd v5, v1
    return v6
block2:
    v7 = symbol_value.i64 gv2
    v8 = symbol_value.i64 gv4
    v9 = load.i64 v8
    v10 = iadd v7, v9
    return v10
}
";

/// Parameters that always have one value, one of them a constant, in nested loops.
const PARAMETERS: &str = "
function %parameters(i64, i64) -> i64 {
block0(v0: i64, v1: i64):
    v2 = iconst.i64 7
    jump block1(v0, v1, v2)
block1(v3: i64, v4: i64, v5: i64):
    jump block2(v3, v4, v5)
block2(v6: i64, v7: i64, v8: i64):
    v9 = isub v6, v8
    v10 = imul v7, v9
    store v10, v7
    brif v9, block2(v9, v7, v8), block3
block3:
    v11 = iadd v10, v7
    brif v11, block1(v11, v7, v8), block4
block4:
    return v11
}
";

/// A value that is read again from memory that does not change, after its address was changed by a loop.
const REPEATS: &str = "
function %repeats(i64, i64) -> i64 {
    fn0 = %use(i64)
block0(v0: i64, v1: i64):
    v2 = iconst.i64 8
    jump block1(v0)
block1(v3: i64):
    v4 = load.i64 notrap aligned readonly v3
    call fn0(v4)
    brif v4, block2, block3
block2:
    v5 = load.i64 notrap aligned readonly v3
    call fn0(v5)
    v6 = iadd v3, v2
    brif v5, block1(v6), block3
block3:
    v7 = load.i64 notrap aligned readonly v3
    return v7
}
";

/// A division that a routine computes.
const DIVISION: &str = "
function %division(i128, i128) -> i128 {
block0(v0: i128, v1: i128):
    v2 = udiv v0, v1
    return v2
}
";

fn compiler(target: &str, allocator: &str, level: OptLevel) -> Compiler {
    let settings = Settings::default().with(|settings| {
        settings.validate_code = ValidateCode::Terms;
        settings.regalloc_algorithm = allocator.into();
        settings.opt_level = level;
        settings.enable_llvm_abi_extensions = true;
    });
    let triple = Triple::from_str(&format!("{target}-unknown-linux-gnu")).unwrap();
    Compiler::new(&triple, settings, &[]).unwrap().with_options(Options::default().with(|options| options.list = true))
}

/// Returns the verdict on the only function of a text, the text from which its proof begins, and the places at heads.
fn proof(text: &str, compiler: &Compiler) -> (Verdict, Reference, Vec<Head>) {
    let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
    let mut func = kingpost_reader::parse_functions(text).unwrap().remove(0);
    let result = compiler.compile(&mut cx, &mut func, &mut module);
    let report = cx.proof().unwrap_or_else(|| panic!("{result:?}"));
    (report.verdict.clone(), cx.proof_reference().unwrap().clone(), cx.proof_heads().to_vec())
}

#[test]
fn proofs_without_the_optimizer_begin_at_the_text() {
    for target in TARGETS {
        for allocator in allocators() {
            for text in [GLOBALS, PARAMETERS, REPEATS] {
                let (verdict, reference, _) = proof(text, &compiler(target, allocator, OptLevel::None));
                assert_eq!((verdict, reference), (Verdict::Proved, Reference::Read), "{target} {allocator} {text}");
            }
        }
    }
}

#[test]
fn what_the_validator_does_not_know_is_proved_after_expansion() {
    for target in TARGETS {
        let (verdict, reference, _) = proof(DIVISION, &compiler(target, "ssa", OptLevel::None));
        assert_eq!(verdict, Verdict::Proved, "{target}");
        let Reference::Expanded(Verdict::OutOfScope(Feature::Opcode(opcode))) = reference else {
            panic!("{reference:?}");
        };
        assert_eq!(opcode, kingpost_ir::Opcode::Udiv);
    }
}

#[test]
fn proofs_with_the_optimizer_begin_at_its_result() {
    let (verdict, reference, _) = proof(PARAMETERS, &compiler("x86_64", "ssa", OptLevel::Speed));
    assert_eq!((verdict, reference), (Verdict::Proved, Reference::Optimized));
}

#[test]
fn places_at_heads_are_told() {
    let text = "function %sum(i32, i64) -> i64 {
        block0(v0: i32, v1: i64):
            jump block1(v0, v1)
        block1(v2: i32, v3: i64):
            v4 = iadd v3, v1
            v5 = iconst.i32 -1
            v6 = iadd v2, v5
            brif v6, block1(v6, v4), block2
        block2:
            return v4
        }";
    let (verdict, _, heads) = proof(text, &compiler("aarch64", "ssa", OptLevel::None));
    assert_eq!(verdict, Verdict::Proved);
    let head = heads.iter().find(|head| head.block.as_u32() == 1).unwrap();
    for value in ["v1", "v2", "v3"] {
        assert!(head.places.iter().any(|(name, place)| name == value && place.starts_with('x')), "{head:?}");
    }
    assert!(head.places.iter().any(|(name, place)| name == "v2" && place.contains('(')), "{head:?}");
}
