//! Decodes one word of each form that the test of the encoders' rows compares with GNU `as`, and refuses reserved words.
//!
//! `KINGPOST_A64_WORDS` is a file with more lines.

use kingpost_machine_semantics::Undecoded;
use kingpost_machine_semantics::a64;

/// Instructions without a known meaning, by the beginning of their text and another part of it: fused products of
/// halves, for which solvers have no term; a hint that changes the link register; a load to its own changed base.
const UNKNOWN: &[(&str, &str)] = &[
    ("fmadd h", ""),
    ("fmsub h", ""),
    ("fnmadd h", ""),
    ("fnmsub h", ""),
    ("fmla v", "h,"),
    ("fmls v", "h,"),
    ("xpaclri", ""),
    ("ldr x1, [x1], #", ""),
];

fn decode(word: u32) -> Result<(), Undecoded> {
    a64::decode(&word.to_le_bytes()).map(|(_, length)| assert_eq!(length, 4))
}

#[test]
fn words_of_the_encoders_decode() {
    let all = match std::env::var("KINGPOST_A64_WORDS") {
        Ok(path) => std::fs::read_to_string(path).unwrap(),
        Err(_) => include_str!("words.txt").to_string(),
    };
    let (mut decoded, mut wrong) = (0, Vec::new());
    for line in all.lines() {
        let (word, text) = line.split_once(' ').unwrap();
        let is_known = decode(u32::from_str_radix(word, 16).unwrap()).is_ok();
        decoded += usize::from(is_known);
        let mut unknown = UNKNOWN.iter();
        if is_known == unknown.any(|(start, part)| text.starts_with(start) && text.contains(part)) {
            wrong.push(line);
        }
    }
    println!("{decoded} of {} words decode", all.lines().count());
    assert!(wrong.is_empty(), "{} words differ from the list of unknown instructions: {wrong:#?}", wrong.len());
}
