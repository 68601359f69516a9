//! Checks `compile -g`: gdb stops at lines of the text, steps through instructions, shows values and visits callers.

use std::process::Command;

const FIB: &str = include_str!("../../../filetests/run/fib.clif");

const MIX: &str = "\
function %mix(i64, i64) -> i64 system_v {
    fn0 = %sum(i64, i64) -> i64 system_v
block0(v0: i64, v1: i64):
    v2 = iadd v0, v1
    v3 = imul v2, v1
    v4 = isub v3, v0
    v5 = udiv v4, v2
    brif v5, block1(v0), block2

block1(v6: i64):
    v7 = bxor v6, v5
    v8 = call fn0(v4, v7)
    v9 = iadd v8, v7
    v10 = imul v9, v4
    return v10

block2:
    v11 = isub v4, v1
    v12 = bor v11, v2
    return v12
}
";

const CONSTANTS: &str = "\
function %constants(i64) -> f64 system_v {
block0(v9: i64):
    v0 = f64const 0x1.4p1
    v1 = iconst.i8 -3
    v2 = f32const 0x1.0p-3
    v3 = sextend.i64 v1
    v4 = iconst.i64 0x8000_0000_0000_0000
    v5 = fpromote.f64 v2
    v6 = fadd v0, v5
    store v3, v9
    store v4, v9+8
    return v6
}
";

/// The allocators with debug information.
const ALLOCATORS: [&str; 3] = ["ssa", "linear", "backtracking"];

const MAIN: &str = "\
long fib(int);
long mix(long, long);
long sum(long a, long b) { return a + b; }
double constants(long *);
int main(void) { long a[2]; constants(a); return fib(10) != 55 || mix(100, 7) == 0; }
";

/// Runs gdb on the programs above, compiled with an allocator, and returns its output; `None` if gdb is not
/// available.
fn gdb(allocator: &str, commands: &[&str]) -> Option<String> {
    let has = |tool: &str| Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) || !has("gdb") || !has("cc") {
        eprintln!("SKIPPED: no gdb and cc for x86-64");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let run = |command: &mut Command| {
        let output = command.output().expect("it starts");
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(output.status.success(), "{out}{err}");
        out + &err
    };
    std::fs::write(at("fib.clif"), format!("{FIB}{MIX}{CONSTANTS}")).expect("written");
    std::fs::write(at("main.c"), MAIN).expect("written");
    let words = ["compile", "-g", "fib.clif", "--regalloc", allocator, "-o", "fib.o"];
    run(Command::new(env!("CARGO_BIN_EXE_kingpost")).current_dir(folder.path()).args(words));
    run(Command::new("cc").current_dir(folder.path()).args(["-g", "main.c", "fib.o", "-o", "fib"]));
    // gdb starts in another folder, so that it must find the text by its recorded folder.
    let mut gdb = Command::new("gdb");
    gdb.current_dir("/").args(["-batch", "-nx"]).args(commands.iter().flat_map(|command| ["-ex", command]));
    let said = run(gdb.arg(at("fib")));
    let may_trace = !said.contains("Could not trace the inferior process");
    if !may_trace {
        eprintln!("SKIPPED: gdb may not trace here");
    }
    may_trace.then_some(said)
}

#[test]
fn gdb_stops_steps_and_goes_up() {
    let commands = ["break fib", "run", "info locals", "break fib.clif:14", "continue", "continue 3"];
    for allocator in ALLOCATORS {
        let Some(said) =
            gdb(allocator, &[&commands[..], &["info locals", "next", "bt", "next", "info locals"]].concat())
        else {
            return;
        };
        // In the third iteration: 0, 1, 1, 2, 3.
        // `ssa` computes constants where they are used, so that the jump is its first line with code.
        let first = if allocator == "ssa" { "10\t    jump block1(v0, v1, v2)" } else { "8\t    v1 = iconst.i64 0" };
        let shown = [first, "v0 = 10", "14\t    v6 = iadd v4, v5", "v3 = 7", "v4 = 2", "v5 = 3"];
        // Constants have no register, or lose it.
        let shown = [&shown[..], &["v1 = 0", "v2 = 1", "v7 = 1", "17\t    jump block1(v8, v5, v6)", "v8 = 6"]].concat();
        for expected in shown {
            assert!(said.contains(expected), "{allocator}: {expected}\n{said}");
        }
        assert!(said.contains("16\t    v8 = isub v3, v7"), "next goes to the next instruction with code: {said}");
        let trace: Vec<_> = said.lines().skip_while(|line| !line.starts_with("#0")).collect();
        assert!(trace[0].contains("fib ()") && trace[1].contains("main ()"), "{allocator}: {said}");
    }
}

#[test]
fn gdb_shows_constants_of_all_types() {
    for allocator in ALLOCATORS {
        let Some(said) = gdb(allocator, &["break constants", "run", "info locals"]) else { return };
        for expected in ["v0 = 2.5\n", "v1 = -3 ", "v2 = 0.125\n", "v3 = -3\n", "v4 = -9223372036854775808\n"] {
            assert!(said.contains(expected), "{allocator}: {expected}\n{said}");
        }
    }
}

/// Checks that gdb shows the operands of the instruction at every stop.
#[test]
fn gdb_shows_the_operands_of_each_line() {
    let steps = ["info locals", "next"].repeat(10);
    for allocator in ALLOCATORS {
        let Some(said) = gdb(allocator, &[&["break mix", "run"], &steps[..]].concat()) else { return };
        let mut lines = said.lines().peekable();
        let mut stops = 0;
        while let Some(line) = lines.next() {
            let Some((_, code)) = line.split_once("\t    ").filter(|(number, _)| number.parse::<u32>().is_ok()) else {
                continue;
            };
            let mut known = Vec::new();
            while let Some(local) = lines.next_if(|line| line.starts_with('v')) {
                known.extend(local.split_once(" = ").filter(|(_, value)| *value != "<optimized out>"));
            }
            let read = code.split_once('=').map_or(code, |(_, read)| read);
            for name in read.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_value) {
                assert!(known.iter().any(|(known, _)| *known == name), "{allocator}: `{code}` without {name}\n{said}");
            }
            stops += 1;
        }
        assert!(stops >= 9, "{allocator}: {said}");
        assert!(said.contains("v7 = 98\n") && said.contains("v8 = 747\n"), "{allocator}: {said}");
    }
}

fn is_value(word: &&str) -> bool {
    word.strip_prefix('v').is_some_and(|number| number.parse::<u32>().is_ok())
}
