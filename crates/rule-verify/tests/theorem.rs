//! Theorems over all integers, which z3 proves.

use std::io::Write;
use std::process::{Command, Stdio};

/// Returns a function that returns z3's answer to whether assumptions and a formula have a model. `None`, with a
/// message, if z3 is not installed.
pub(crate) fn over(assumed: &str) -> Option<impl Fn(&str) -> String> {
    if !kingpost_rule_verify::Backend::Z3.is_installed() {
        assert!(std::env::var_os("CI").is_none(), "z3 is missing");
        eprintln!("SKIPPED: z3 is not installed");
        return None;
    }
    Some(move |formula: &str| {
        let mut z3 =
            Command::new("z3").args(["-in", "-T:60"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let script = format!("{assumed}(assert {formula})\n(check-sat)\n");
        z3.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        String::from_utf8(z3.wait_with_output().unwrap().stdout).unwrap().trim().to_string()
    })
}
