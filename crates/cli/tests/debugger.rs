//! `compile -g`: gdb stops at lines of the text, steps from instruction to instruction, shows values and goes up to callers.

use std::process::Command;

const SOURCE: &str = "\
function %fib(i32) -> i64 system_v {
block0(v0: i32):
    v1 = iconst.i64 0
    v2 = iconst.i64 1
    jump block1(v0, v1, v2)

block1(v3: i32, v4: i64, v5: i64):
    brif v3, block2, block3

block2:
    v6 = iadd v4, v5
    v7 = iconst.i32 1
    v8 = isub v3, v7
    jump block1(v8, v5, v6)

block3:
    return v4
}
";

#[test]
fn gdb_steps_and_shows_values() {
    let has = |tool: &str| Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) || !has("gdb") || !has("cc") {
        eprintln!("SKIPPED: gdb_steps_and_shows_values: no gdb and cc for x86-64");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let run = |command: &mut Command| {
        let output = command.output().expect("it starts");
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(output.status.success(), "{out}{err}");
        out + &err
    };
    std::fs::write(at("fib.clif"), SOURCE).expect("written");
    std::fs::write(at("main.c"), "long fib(int); int main(void) { return fib(10) != 55; }").expect("written");
    let kingpost = env!("CARGO_BIN_EXE_kingpost");
    run(Command::new(kingpost).current_dir(folder.path()).args([
        "compile",
        "-g",
        "fib.clif",
        "--regalloc",
        "linear",
        "-o",
        "fib.o",
    ]));
    run(Command::new("cc").current_dir(folder.path()).args(["-g", "main.c", "fib.o", "-o", "fib"]));
    // Started elsewhere, so that the text is found by its folder. The third time round: 0, 1, 1, 2, 3.
    let said = run(Command::new("gdb")
        .current_dir("/")
        .args(["-batch", "-nx"])
        .args(
            [
                "break fib",
                "run",
                "info locals",
                "break fib.clif:11",
                "continue",
                "continue 3",
                "info locals",
                "next",
                "bt",
            ]
            .iter()
            .flat_map(|command| ["-ex", command]),
        )
        .arg(at("fib")));
    if said.contains("Could not trace the inferior process") {
        eprintln!("SKIPPED: gdb_steps_and_shows_values: gdb may not trace here");
        return;
    }
    for expected in ["3\t    v1 = iconst.i64 0", "v0 = 10", "11\t    v6 = iadd v4, v5", "v3 = 7", "v4 = 2", "v5 = 3"] {
        assert!(said.contains(expected), "{expected}\n{said}");
    }
    assert!(said.contains("13\t    v8 = isub v3, v7"), "next goes to the next instruction with code: {said}");
    let trace = said.lines().skip_while(|line| !line.starts_with("#0")).collect::<Vec<_>>();
    assert!(trace[0].contains("fib ()") && trace[1].contains("main ()"), "{said}");
}
