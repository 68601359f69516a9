//! Pointers of the frame and addresses of handlers as values, the chain of frames, and loads of the stack.

use crate::compiled::{TARGETS, allocators, with_settings};
use crate::written::{self, fault, verdict_of_blocks};
use kingpost_codegen::compiled::ModuleBuffer;
use kingpost_codegen::settings::{OptLevel, ValidateCode};
use kingpost_codegen::{Compiler, Settings};
use kingpost_validate::{Code, Fault, Verdict, prove};

const FUNCTIONS: &str = include_str!("frames.clif");

fn compiler(target: &str, allocator: &str, opt_level: OptLevel) -> Compiler {
    let settings = Settings::default().with(|settings| {
        settings.preserve_frame_pointers = true;
        settings.validate_code = ValidateCode::Terms;
        settings.regalloc_algorithm = allocator.into();
        settings.opt_level = opt_level;
    });
    with_settings(target, settings)
}

/// Returns the verdict on a function of the text, with changed code.
fn verdict(compiler: &Compiler, name: &str, change: impl FnOnce(&mut Code<'_>)) -> Verdict {
    let functions = kingpost_reader::parse_functions(FUNCTIONS).unwrap();
    let mut func = functions.into_iter().find(|func| func.name.to_string() == name).unwrap();
    let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
    compiler.compile(&mut cx, &mut func, &mut module).unwrap();
    let view = module.function(0);
    let mut code = compiler.code_to_prove(&cx, &func, &view);
    change(&mut code);
    prove(&func, &code, None).verdict
}

#[test]
fn pointers_of_the_frame_are_proved() {
    for target in TARGETS {
        for allocator in allocators() {
            for level in [OptLevel::None, OptLevel::Speed] {
                let compiler = compiler(target, allocator, level);
                for name in ["%into", "%out_of", "%stack"] {
                    assert_eq!(verdict(&compiler, name, |_| {}), Verdict::Proved, "{target} {allocator} {name}");
                }
            }
        }
    }
}

/// Passes the address of a slot without bytes, which is in the table of the frame, as the addresses of others are.
#[test]
fn slots_without_bytes_have_an_offset() {
    for target in TARGETS {
        for allocator in allocators() {
            let compiler = compiler(target, allocator, OptLevel::None);
            assert_eq!(verdict(&compiler, "%empty_slot", |_| {}), Verdict::Proved, "{target} {allocator}");
        }
    }
}

#[test]
fn tables_must_agree_with_the_pointers() {
    for target in TARGETS {
        let compiler = compiler(target, "ssa", OptLevel::None);
        for name in ["%into", "%stack"] {
            let changes: [fn(&mut Code<'_>); 2] =
                [|code| code.body_offset += 16, |code| code.frame_bytes = code.frame_bytes.map(|bytes| bytes + 16)];
            for change in changes {
                let moved = verdict(&compiler, name, change);
                assert!(!matches!(moved, Verdict::Proved | Verdict::OutOfScope(_)), "{target} {name}: {moved}");
            }
        }
        let other = verdict(&compiler, "%into", |code| code.handlers[0].offset += 4);
        assert!(!matches!(other, Verdict::Proved | Verdict::OutOfScope(_)), "{target}: {other}");
        let none = verdict(&compiler, "%into", |code| code.handlers.clear());
        assert!(matches!(none, Verdict::OutOfScope(_)), "{target}: {none}");
    }
}

/// Puts another word in place of the return address, in a function that does not return.
#[test]
fn the_frame_chain_has_the_return_address() {
    let text = "function %f() { fn0 = %g() block0: call fn0() jump block1 block1: jump block1 }";
    let chained = [0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0, 0, 0, 0xeb, 0xfe]; // push rbp; mov rbp, rsp; call %g; jmp
    assert_eq!(verdict_of_blocks(text, &chained, &[4, 9], Some(5)), Verdict::Proved);
    // With push rax before, and sub rsp, 8 after.
    let other = [0x50, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 8, 0xe8, 0, 0, 0, 0, 0xeb, 0xfe];
    assert_eq!(fault(verdict_of_blocks(text, &other, &[9, 14], Some(10))), Some(Fault::FrameChain));
}

/// Reads memory above the return address, and far below the stack pointer.
#[test]
fn loads_of_the_stack_are_of_the_frame() {
    let code = |from: i32| {
        let load = [&[0x48, 0x8b, 0x84, 0x24][..], &from.to_le_bytes()].concat(); // mov rax, [rsp + from]
        [&load[..], &[0x48, 0x89, 0x3f, 0xc3]].concat() // mov [rdi], rdi; ret
    };
    let text = "function %f(i64) { block0(v0: i64): store notrap v0, v0 return }";
    let verdict = |from| fault(written::verdict(text, &code(from), 0, None));
    assert_eq!([-128, -8, 0].map(verdict), [None; 3]);
    assert_eq!([-4096, -136, 4, 8, 4096].map(verdict), [Some(Fault::FrameLoad); 5]);
}
