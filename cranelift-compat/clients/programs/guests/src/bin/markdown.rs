//! Translates a document in Markdown to HTML.

use pulldown_cmark::{Options, Parser, html};
use std::fmt::Write;

fn main() {
    let mut document = String::new();
    for (number, line) in guests::text(60_000).lines().enumerate() {
        match number % 9 {
            0 => writeln!(document, "\n# {line}\n"),
            1..=3 => writeln!(document, "* *{}* **{line}**", number),
            4 => writeln!(document, "\n```\n{line}\n```\n"),
            5 => writeln!(document, "\n| a | b |\n|---|---|\n| {line} | `{number}` |\n"),
            _ => writeln!(document, "{line} [link {number}](http://example.org/{number})"),
        }
        .expect("a string");
    }
    let mut sum = 0u64;
    for _ in 0..12 {
        let mut output = String::new();
        html::push_html(&mut output, Parser::new_ext(&document, Options::ENABLE_TABLES));
        sum = sum.wrapping_mul(31).wrapping_add(guests::sum(output.as_bytes()));
    }
    println!("{} bytes, sum {sum:x}", document.len());
}
