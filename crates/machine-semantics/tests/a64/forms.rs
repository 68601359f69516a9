//! The instructions that are compared with the emulator, as text.
//!
//! `r0` is `x0` and `w0`; `f0` is `s0` and `d0`; `T` is the address 12 bytes after a branch, which is the second
//! instruction if `;` precedes it. Bases of addresses point into the window of memory.
//!
//! In lists with arrangements, `*` is an arrangement and `#` after a point its letter; `+` is the arrangement with lanes
//! of twice the width in a full vector, and `?` the one in a vector of equal width; `%` is `2` for a full vector.

/// Arrangements of lanes, by the letters of their widths.
const ARRANGEMENTS: [(char, [&str; 2]); 4] =
    [('b', ["8b", "16b"]), ('h', ["4h", "8h"]), ('s', ["2s", "4s"]), ('d', ["", "2d"])];

/// A form: its text, and the width of float lanes in its result.
pub(crate) struct Form {
    pub(crate) text: String,
    pub(crate) lanes: Option<u32>,
}

/// Returns the text with each placeholder before a digit replaced.
fn replaced(text: &str, from: char, to: char) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    let mut last = ' ';
    while let Some(next) = chars.next() {
        let is_place = next == from && !last.is_alphanumeric() && chars.peek().is_some_and(char::is_ascii_digit);
        out.push(if is_place { to } else { next });
        last = next;
    }
    out
}

/// Returns the forms of each width.
fn widths(text: &str, from: char, to: [char; 2]) -> Vec<String> {
    let all = to.map(|to| replaced(text, from, to));
    if all[0] == all[1] { vec![all[0].clone()] } else { all.to_vec() }
}

/// Returns all forms of a list.
pub(crate) fn all(list: &[&str]) -> Vec<Form> {
    let mut forms = Vec::new();
    for text in list {
        for text in widths(text, 'r', ['x', 'w']) {
            for (lanes, text) in [64, 32].into_iter().zip(widths(&text, 'f', ['d', 's'])) {
                forms.push(Form { lanes: Some(lanes), text });
            }
        }
    }
    forms
}

/// Returns the forms of a list with arrangements.
pub(crate) fn arranged(list: &[(&str, &str)]) -> Vec<Form> {
    let mut forms = Vec::new();
    for (letters, text) in list {
        for (index, (letter, arrangements)) in ARRANGEMENTS.iter().enumerate() {
            if !letters.contains(*letter) {
                continue;
            }
            for (full, arrangement) in arrangements.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
                // Lanes of twice the width: in a full vector, and in one of equal width.
                let wide = ARRANGEMENTS.get(index + 1).map_or(["", ""], |(_, wide)| *wide);
                let same = if wide[full].is_empty() { "1d" } else { wide[full] };
                let text = text.replace('*', arrangement).replace('+', wide[1]).replace('?', same);
                let text = text.replace(".#", &format!(".{letter}")).replace('%', if full == 1 { "2" } else { "" });
                forms.push(Form { text, lanes: Some(8 << index) });
            }
        }
    }
    forms
}

/// Returns the forms of a list with the width of the result.
pub(crate) fn with_width(list: &[(&str, u32)]) -> Vec<Form> {
    list.iter().map(|&(text, lanes)| Form { text: text.into(), lanes: Some(lanes) }).collect()
}
