//! Compares the two front ends for Sprig, in C and in Rust: objects byte for byte, results, output and messages.

use super::programs::{build, has_tool, output, path};
use std::fs;
use std::process::Command;

// The front end in Rust. Its tests run here a second time.
#[allow(dead_code, reason = "it is a program of its own, whose function `main` is not called here")]
#[path = "../../kingpost/examples/sprig/main.rs"]
mod in_rust;

/// Programs with a function `main`, by file name.
pub(crate) const PROGRAMS: &[(&str, &str)] = &[
    ("tour.sprig", include_str!("../../kingpost/examples/sprig/tour.sprig")),
    (
        "lists.sprig",
        r#"// Lists that share their tails, long enough for the collector to move them many times.
struct List { head: int, tail: fn() List }
struct Pair { left: List, right: List }

fn nil() List { return List { 0 - 1, fn() List { return nil(); } }; }
fn cons(head: int, tail: List) List { return List { head, fn() List { return tail; } }; }

fn sum(list: List) int {
    let total = 0;
    while 0 < list.head + 1 {
        total = total + list.head;
        let next = list.tail;
        list = next();
    }
    return total;
}

fn main(n: int) int {
    let list = nil();
    let i = 0;
    while i < n {
        list = cons(i, list);
        i = i + 1;
    }
    let both = Pair { list, cons(1000, list) };
    both.left = cons(5, both.right);
    print(sum(both.left));
    print("été, 数");
    return sum(both.right) + sum(list) * 10;
}
"#,
    ),
    (
        "closures.sprig",
        r#"struct Box { value: int }
fn twice(f: fn(int) int) fn(int) int { return fn(x: int) int { return f(f(x)); }; }
fn adder(b: Box) fn(int) int {
    return fn(x: int) int {
        let add = fn(y: int) int { return x + y * b.value; };
        return add(x) + add(1);
    };
}
fn even(n: int) int { if n == 0 { return 1; } return odd(n - 1); }
fn odd(n: int) int { if n == 0 { return 0; } return even(n - 1); }
fn pick(n: int) fn(int) int {
    if n < 5 { return fn(x: int) int { return x; }; } else { }
    let n = n * 2;
    return fn(x: int) int { let x = x * n; return x; };
    print("not reached");
}
fn main(n: int) int {
    let f = twice(twice(adder(Box { n / 3 })));
    print(f(1) == f(1));
    let i = 0;
    while i < n {
        if even(i) { print(pick(i)(i)); } else { print(0 - odd(i)); }
        i = i + 1;
    }
    return f(n) - (n - 1) * (n / 2);
}
"#,
    ),
];

/// Programs with an error.
const WRONG: &[&str] = &[
    "",
    "fn",
    "fn f",
    "fn F() int {}",
    "fn f(n) int {}",
    "fn f(n: int, ) int {}",
    "fn f(n: long) int {}",
    "struct point { x: int }",
    "fn main(n: int) int {\n return m;\n}",
    "fn main(n: int) int { return \"a\"; }",
    "fn main(n: int) int { return 1 }",
    "fn main(n: int) int { return 9223372036854775808; }",
    "fn main(n: int) int { return 12ab; }",
    "fn main(n: int) int { return \"a; }",
    "fn main(n: int) int { return é; }",
    "fn main(n: int) int { n + 1 = 2; }",
    "fn main(n: int) int { m = 2; }",
    "fn main(n: int) int { n.x = 2; }",
    "fn main(n: int) int { return n.x; }",
    "fn main(n: int) int { return n(1); }",
    "fn main(n: int) int { return main(1, 2); }",
    "fn main(n: int) int { return main(\"a\"); }",
    "fn main(n: int) int { print(main); return 1; }",
    "fn main(n: int) int { print(fn(x: int) int { return x; }); return 1; }",
    "struct P { x: int }\nfn main(n: int) int {\n let p = P { 1 };\n return p; }",
    "struct P { x: int }\nfn main(n: int) int {\n let p = P { 1, 2 };\n return p.x; }",
    "struct P { x: int }\nfn main(n: int) int {\n return P { 1 }.y; }",
    "fn main(n: int) int { return Q { 1 }; }",
    "fn main(n: int) int { let f = fn(x: int, y: str) int { return x; }; f = n; return 1; }",
    "fn main(n: int) int { while \"a\" { } return 1; }",
    "fn f(n: int) int { return 1; }\nfn f(n: int) int { return 2; }",
    "fn f(n: int) int { return 1; }\n\nfn f() int { return 2; }",
    "fn f(n: int) int { return 1; }",
    "fn main() int { return 1; }",
    "fn main(n: int) int { let a = 1 let b = 2; return a; }",
];

#[test]
fn both_front_ends_write_the_same_objects_and_get_the_same_results() {
    let Some((folder, program)) = build("examples/sprig", "both_front_ends") else { return };
    let folder = folder.path();
    for (name, text) in PROGRAMS {
        fs::write(folder.join(name), text).expect("written");
        let run = |words: &[&str]| {
            let output = Command::new(&program).current_dir(folder).arg(name).args(words).output().expect("it runs");
            let texts = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8"));
            assert!(output.status.success(), "{name} {words:?}: {}", texts[1]);
            texts
        };
        run(&["-o", "program.o"]);
        let object = fs::read(folder.join("program.o")).expect("an object");
        assert!(object == in_rust::object(text, name).expect("an object"), "the objects of {name} differ");

        let linked = folder.join("linked");
        let runtime = path("../kingpost/examples/sprig/runtime.c");
        output(Command::new("cc").arg(folder.join("program.o")).arg(runtime).arg("-o").arg(&linked));
        for number in ["0", "1", "10", "37"] {
            let printed = output(Command::new(&linked).arg(number));
            assert_eq!(run(&[number])[0], printed, "{name} {number}");
            let (result, collections) =
                in_rust::run(text, number.parse().expect("a number"), true, None).expect("a result");
            let [out, err] = run(&[number, "--collect"]);
            assert_eq!(out, printed, "{name} {number} with collections");
            assert_eq!(out.lines().last(), Some(result.to_string().as_str()), "{name} {number}");
            assert_eq!(err, format!("{collections} collections\n"), "{name} {number}");
        }
    }
}

#[test]
fn gdb_shows_lines_and_variables_of_code_in_memory() {
    let test = "gdb_shows_lines_and_variables_of_code_in_memory";
    let Some((folder, program)) = build("examples/sprig", test).filter(|_| has_tool("gdb", test)) else { return };
    fs::write(folder.path().join("tour.sprig"), PROGRAMS[0].1).expect("written");
    let commands =
        ["set breakpoint pending on", "break tour.sprig:14", "run", "info locals", "bt", "delete", "continue"];
    let mut gdb = Command::new("gdb");
    gdb.current_dir(folder.path()).args(["-nx", "-batch"]);
    gdb.args(commands.iter().flat_map(|command| ["-ex", command])).arg("--args").arg(program);
    let text = output(gdb.args(["tour.sprig", "10", "-g"]));
    let shown =
        ["14\t        i = i + 1;", "total = 1\n", "sprig_sum () at ", "tour.sprig:14", "tour.sprig:25", "595\n"];
    for expected in shown {
        assert!(text.contains(expected), "no {expected:?} in {text}");
    }
}

#[test]
fn both_front_ends_report_the_same_errors() {
    let Some((folder, program)) = build("examples/sprig", "both_front_ends_report_the_same_errors") else { return };
    let deep = format!("fn main(n: int) int {{ return {}", "(".repeat(500));
    let wide = format!("fn main(n: int) int {{ let f = fn() int {{ return {}1; }};", "n + ".repeat(3));
    for text in WRONG.iter().copied().chain([deep.as_str(), wide.as_str()]) {
        let file = folder.path().join("wrong.sprig");
        fs::write(&file, text).expect("written");
        let expected = in_rust::run(text, 1, false, None).expect_err(text).to_string();
        let output = Command::new(&program).arg(&file).arg("1").output().expect("it runs");
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("{expected}\n"), "{text}");
        assert_eq!(output.status.code(), Some(1), "{text}");
    }
}
