//! Plants single-bit faults in the code of functions, and proves the changed code: `flips COUNT FILE...`.
//!
//! Prints counts. The exit code is 1 if a fault is accepted that shows something else to others.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(count) = args.next().and_then(|count| count.parse().ok()) else {
        eprintln!("usage: flips COUNT FILE...");
        return ExitCode::from(2);
    };
    let mut functions = Vec::new();
    for path in args {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::from(2);
            }
        };
        // Some tests are no valid text on purpose.
        functions.extend(kingpost_reader::parse_functions(&text).unwrap_or_default());
    }
    let counts = kingpost_difftest::flips::run(&functions, count, 0);
    println!("{} functions, {counts}", functions.len());
    ExitCode::from(u8::from(!counts.accepted.is_empty()))
}
