//! Calls with handlers, and tables of handlers that differ from the function.

use crate::compiled::{TARGETS, compiler};
use kingpost_codegen::compiled::ModuleBuffer;
use kingpost_validate::{Code, ContextPlace, Fault, Handler, Verdict, prove};

const FUNCTIONS: &str = include_str!("exceptions.clif");

/// Returns the verdicts on the code of the function with this name and a changed table.
fn verdict(target: &str, name: &str, change: impl FnOnce(&mut Code<'_>)) -> Verdict {
    let compiler = compiler(target, "ssa");
    let mut cx = compiler.context();
    let functions = kingpost_reader::parse_functions(FUNCTIONS).unwrap();
    let mut func = functions.into_iter().find(|func| func.name.to_string() == name).unwrap();
    let mut module = ModuleBuffer::default();
    compiler.compile(&mut cx, &mut func, &mut module).unwrap();
    let view = module.function(0);
    let mut code = compiler.code_to_prove(&cx, &func, &view);
    change(&mut code);
    prove(&func, &code, None).verdict
}

/// Requires the changed table to be refused.
fn refused(target: &str, name: &str, change: impl FnOnce(&mut Vec<Handler>)) -> Fault {
    match verdict(target, name, |code| change(&mut code.handlers)) {
        Verdict::Refuted(finding) | Verdict::NotProved(finding) => finding.fault,
        verdict => panic!("{target} {name}: {verdict}"),
    }
}

#[test]
fn handlers_are_those_of_the_function() {
    for target in TARGETS {
        assert_eq!(verdict(target, "%which", |_| {}), Verdict::Proved);
        let exchanged = |handlers: &mut Vec<Handler>| {
            let (first, second) = (handlers[0].offset, handlers[1].offset);
            (handlers[0].offset, handlers[1].offset) = (second, first);
        };
        refused(target, "%which", exchanged);
        assert_eq!(refused(target, "%which", |handlers| handlers[1].tag = Some(3)), Fault::Handlers);
        assert_eq!(refused(target, "%which", |handlers| handlers[0].tag = Some(1)), Fault::Handlers);
        assert_eq!(refused(target, "%which", |handlers| handlers.truncate(2)), Fault::Handlers);
        assert_eq!(refused(target, "%which", |handlers| handlers.swap(0, 1)), Fault::Handlers);
        assert_eq!(refused(target, "%which", |handlers| handlers[2].offset = 1 << 20), Fault::OutsideCode);
    }
}

#[test]
fn contexts_are_in_their_places() {
    for target in TARGETS {
        assert_eq!(verdict(target, "%as_in_c", |_| {}), Verdict::Proved);
        let other = if target == "x86_64" { 0 } else { 1 };
        for place in [None, Some(ContextPlace::General(other)), Some(ContextPlace::Stack(4096))] {
            assert_eq!(refused(target, "%as_in_c", |handlers| handlers[0].context = place), Fault::Handlers);
        }
    }
}

#[test]
fn handlers_have_the_stack_of_the_body() {
    for target in TARGETS {
        assert_eq!(verdict(target, "%indirect", |_| {}), Verdict::Proved);
        let moved = verdict(target, "%indirect", |code| code.body_offset += 16);
        assert!(matches!(&moved, Verdict::NotProved(finding) if finding.fault == Fault::FrameChain), "{moved}");
        let untold =
            verdict(target, "%indirect", |code| (code.body_offset, code.frame_bytes) = (code.body_offset + 16, None));
        assert!(matches!(&untold, Verdict::NotProved(finding) if finding.fault == Fault::Handlers), "{untold}");
    }
}
