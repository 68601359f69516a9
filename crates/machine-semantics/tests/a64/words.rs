//! Decodes one word of each form that the test of the encoders' rows compares with GNU `as`, and refuses words that are
//! no instructions for GNU `objdump`.
//!
//! `KINGPOST_A64_WORDS` is a file with more lines for the first test, `KINGPOST_CASES` the number of words of the second.

use super::emulated::is_missing;
use super::states::Random;
use kingpost_machine_semantics::Undecoded;
use kingpost_machine_semantics::a64;
use std::process::Command;

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

/// Returns a word that is random, or differs in few bits from one that decodes.
fn random_word(random: &mut Random, known: &[u32]) -> u32 {
    let word = random.next() as u32;
    match random.below(4) {
        0 => word,
        _ => {
            let flips = 1 + random.below(3);
            (0..flips).fold(known[random.below(known.len())], |word, _| word ^ 1 << random.below(32))
        }
    }
}

#[test]
fn decoded_words_are_instructions() {
    const TOOL: &str = "aarch64-linux-gnu-objdump";
    if is_missing("decoded_words_are_instructions", &[TOOL]) {
        return;
    }
    let cases: usize = std::env::var("KINGPOST_CASES").map_or(50_000, |text| text.parse().unwrap());
    let first = |line: &str| u32::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
    let known: Vec<u32> = include_str!("words.txt").lines().map(first).collect();
    let mut random = Random(5);
    let words = (0..cases).map(|_| random_word(&mut random, &known)).filter(|&word| decode(word).is_ok());
    let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    let output = Command::new(TOOL).args(["-D", "-b", "binary", "-m", "aarch64"]).arg(file.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(":\t")).collect();
    assert_eq!(lines.len(), bytes.len() / 4, "every word has a line");
    let wrong: Vec<&&str> = lines.iter().filter(|line| line.contains(".inst") || line.contains("undefined")).collect();
    assert!(wrong.is_empty(), "{} of {} are no instructions: {wrong:#?}", wrong.len(), lines.len());
    println!("{} of {cases} words decode", lines.len());
}
