//! Checks that errors in a text are reported at their line and column.

use kingpost_ir::Function;
use kingpost_reader::{Options, Parser, parse_functions};

fn error(text: &str) -> String {
    match parse_functions(text) {
        Ok(_) => format!("no error in {text}"),
        Err(error) => error.to_string(),
    }
}

/// Returns the error of a body whose block has the parameters `v0: i32, v1: i64, v2: f32, v3: i8x16`. The body
/// begins in line 3.
fn body(lines: &str) -> String {
    error(&format!("function %f(i32, i64, f32, i8x16) {{\nblock0(v0: i32, v1: i64, v2: f32, v3: i8x16):\n{lines}\n}}"))
}

/// Returns the error of a preamble that begins in line 2.
fn preamble(lines: &str) -> String {
    error(&format!("function %f() {{\n{lines}\nblock0:\n return\n}}"))
}

#[test]
fn files_and_functions() {
    assert_eq!(error("func %f() {}"), "1:1: expected `function`, found `func`");
    assert_eq!(error("function f() {}"), "1:10: expected a function name as `%name` or `u0:1`, found `f`");
    assert_eq!(error("function u0() {}"), "1:12: expected `:` and an index, found `(`");
    assert_eq!(error("function %f(i33) {}"), "1:13: unknown type `i33`");
    assert_eq!(error("function %f(i32 {}"), "1:17: expected `,` or `)`, found `{`");
    assert_eq!(error("function %f() cold {}"), "1:15: expected `{`, found `cold`");
    assert_eq!(error("function %f() {"), "1:16: expected a declaration, a block or `}`, but the text ends here");
    assert_eq!(error("function %f() {}\n\n?"), "3:1: expected `function`, found `?`");
    assert_eq!(
        error("test cat\nset a\nfunction"),
        "3:9: expected a function name as `%name` or `u0:1`, but the text ends here"
    );
    assert_eq!(
        Parser::new(b"function %f\xff", Options::default()).err().unwrap().to_string(),
        "1:12: the text is not valid UTF-8"
    );
}

#[test]
fn preambles() {
    assert_eq!(preamble("ss0 = explicit_slot 4\nss0 = explicit_slot 8"), "3:1: ss0 is defined twice");
    assert_eq!(preamble("ss0 = explicit_slot -4"), "2:21: expected a size in bytes, found `-`");
    assert_eq!(preamble("ss0 = explicit_slot 4294967296"), "2:21: number out of range");
    assert_eq!(preamble("ss0 = explicit_slot 4, align = 3"), "2:32: alignment 3 is not a power of two up to 2^31");
    assert_eq!(preamble("gv0 = load.i64 notrap gv1+8"), "2:16: the load of a global value must be notrap and aligned");
    assert_eq!(preamble("gv0 = load.i64 notrap aligned gv1+8"), "2:31: gv1 is not declared");
    assert_eq!(preamble("gv0 = vmctx\n gv0 = vmctx"), "3:2: gv0 is defined twice");
    assert_eq!(preamble("gv0 = iadd_imm.i64 gv0"), "2:23: expected `,` and a number, found `block0`");
    assert_eq!(
        preamble("gv0 = deref gv1"),
        "2:7: expected `vmctx`, `load`, `iadd_imm`, `symbol` or `dyn_scale_target_const`, found `deref`"
    );
    assert_eq!(preamble("region1 = 3 \"x\""), "2:1: alias regions are numbered in order; region0 is next");
    assert_eq!(preamble("region0 = 3 \"x"), "2:13: expected a string that ends, found `\"`");
    assert_eq!(preamble("fn0 = %f sig3"), "2:10: sig3 is not declared");
    assert_eq!(preamble("fn0 = f()"), "2:7: expected a name as `%name` or `u0:1`, found `f`");
    assert_eq!(preamble("const0 = 0x123"), "2:10: a byte of the constant lacks a digit");
    assert_eq!(preamble("const0 = i32x4 [1 2 3]"), "2:16: the constant has 3 lanes, its type has 4");
    assert_eq!(preamble("const0 = i8x4 0x0102030405"), "2:15: the constant has 5 bytes, its type has 4");
    assert_eq!(preamble("dt0 = i32*gv0"), "2:7: expected a fixed vector type, found type i32");
    assert_eq!(preamble("gv0 = vmctx\nstack_limit = gv0\nstack_limit = gv0"), "4:1: a second stack limit");
    assert_eq!(preamble("return"), "2:1: an instruction before the first block");
}

#[test]
fn blocks_and_values() {
    assert_eq!(body("v1 = iconst.i32 0"), "3:1: v1 is defined twice");
    assert_eq!(body("return v9"), "3:8: v9 is not defined");
    assert_eq!(
        error("function %f() {\nblock0:\n    jump block1(v0)\nblock1(v1: i32):\n    return\n}"),
        "3:17: v0 is not defined"
    );
    assert_eq!(
        body("v5 = iadd v9, v0\nv9 = iconst.i32 1"),
        "3:6: iadd needs a type suffix here, because v9 is not defined above"
    );
    assert_eq!(body("v5 -> v6\nv6 = iconst.i32 1"), "3:7: v6 is not defined");
    assert_eq!(body("v5 -> v5"), "3:1: v5 would be an alias of itself");
    assert_eq!(body("v5 -> v0\nv0 -> v5"), "4:1: v0 is defined twice");
    assert_eq!(body("v5 -> v0\nv5 -> v1"), "4:1: v5 is defined twice");
    assert_eq!(body("v01 = iconst.i32 0"), "3:1: expected a value, found `v01`");
    assert_eq!(body("v4294967296 = iconst.i32 0"), "3:1: expected a value, found `v4294967296`");
    assert_eq!(body("block0:"), "3:1: block0 is defined twice");
    assert_eq!(body("jump block4294967296"), "3:6: expected a block, found `block4294967296`");
    assert_eq!(body("v5 = call fn3()"), "3:11: fn3 is not declared");
    assert_eq!(body("v5 = stack_addr.i64 ss1"), "3:21: ss1 is not declared");
    assert_eq!(body("block1(v5):"), "3:10: expected `:` and a type, found `)`");
}

#[test]
fn instructions() {
    assert_eq!(body("v5 = iadd_imm v0, 1"), "3:6: unknown opcode `iadd_imm`");
    assert_eq!(body("v5 = iadd v0"), "3:13: expected `,`, found `}`");
    assert_eq!(body("v5 = iadd v2, v2"), "3:6: f32 is no controlling type of iadd, which takes Int");
    assert_eq!(body("v5 = iadd.f32 v0, v0"), "3:6: f32 is no controlling type of iadd, which takes Int");
    assert_eq!(body("jump.i32 block0"), "3:1: jump takes no type suffix");
    assert_eq!(body("v5 = iconst 3"), "3:6: iconst needs a type suffix, as in `iconst.i32`");
    assert_eq!(body("v5 = iconst.i8 256"), "3:16: number out of range");
    assert_eq!(body("v5 = iconst.i32 1_0"), "3:17: invalid number");
    assert_eq!(body("v5, v6 = iadd v0, v0"), "3:10: iadd has 1 results here, but 2 names stand before it");
    assert_eq!(body("iadd v0, v0"), "3:1: iadd has 1 results here, but 0 names stand before it");
    assert_eq!(body("v5 = icmp lt v0, v0"), "3:11: expected an integer condition code, found `lt`");
    assert_eq!(body("v5 = fcmp slt v2, v2"), "3:11: expected a float condition code, found `slt`");
    assert_eq!(body("v5 = f32const 1.0"), "3:15: invalid number");
    assert_eq!(body("v5 = f32const 0x1p3"), "3:15: expected a float literal, found `0x1p3`");
    assert_eq!(body("v5 = f32const 0x1.0000001"), "3:15: number cannot be represented exactly");
    assert_eq!(body("trap why"), "3:6: expected a trap code, found `why`");
    assert_eq!(body("v5 = load.i32 fast v1"), "3:15: expected a value, found `fast`");
    assert_eq!(body("v5 = load.i32 v1+ 8"), "3:17: expected an offset, found `+`");
    assert_eq!(body("v5 = load.i32 v1 8"), "3:18: expected an instruction, found `8`");
    assert_eq!(body("v5 = load.i32 v1+2147483648"), "3:17: number out of range");
    assert_eq!(body("v5 = load.i32 little big v1"), "3:22: memory flag `big` contradicts an earlier one");
    assert_eq!(body("v5 = extractlane v3, -1"), "3:22: expected a lane number, found `-`");
    assert_eq!(body("v5 = shuffle v3, v3, [0 1]"), "3:22: the constant has 2 lanes, its type has 16");
    assert_eq!(body("v5 = vconst.i32x4 const0"), "3:19: const0 is not declared");
    assert_eq!(body("brif v0, block1"), "3:16: expected `,`, found `}`");
    assert_eq!(body("br_table v0, block1"), "3:20: expected `,`, found `}`");
    assert_eq!(
        body("jump block0(ret1073741824)"),
        "3:26: too large: the number of a `ret` or `exn` argument is limited to 1073741823"
    );
    assert_eq!(body("return, stack_map=[]"), "3:7: expected an instruction, found `,`");
    assert_eq!(body("@123456789 return"), "3:1: expected a source location of 32 bits, found `@`");
}

#[test]
fn reading_goes_on_behind_a_bad_function() {
    let text = "function %a() {\nblock0:\n why\n}\nfunction %b() {\nblock0:\n return\n}\n";
    let mut parser = Parser::new(text.as_bytes(), Options::default()).unwrap();
    let mut func = Function::default();
    assert!(parser.next_function(&mut func).is_err());
    assert!(parser.skip_to_next_function());
    assert_eq!(parser.next_function(&mut func), Ok(true));
    assert_eq!(func.name.to_string(), "%b");
    assert_eq!(parser.next_function(&mut func), Ok(false));
    assert!(!parser.skip_to_next_function());
}
