//! Counts the matches of regular expressions in text.

use regex::Regex;

fn main() {
    let text = guests::text(300_000);
    let patterns = [
        r"\b\d{4}-\d{2}-\d{2}\b",
        r"[a-z0-9]+@[a-z0-9-]+\.org",
        r"(?i)(register|memory)\s+(is|of)\s+(\w+)",
        r"\b\w*(.)(a|e|i)\w*ed\b",
        r"[^.\n]*\bspilled\b[^.\n]*\.",
        r"\d+\.\d{1,2}",
    ];
    for pattern in patterns {
        let regex = Regex::new(pattern).expect("a pattern");
        let (mut count, mut bytes) = (0u64, 0u64);
        for found in regex.find_iter(&text) {
            count += 1;
            bytes += found.len() as u64;
        }
        let groups = regex.captures_iter(&text).take(2000).map(|groups| groups.iter().flatten().count()).sum::<usize>();
        println!("{pattern}: {count} matches, {bytes} bytes, {groups} groups");
    }
}
