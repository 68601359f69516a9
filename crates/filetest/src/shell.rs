//! Words of commands that a shell reads.

/// Returns the word that names a file in a command; `-` for standard input.
pub(crate) fn file_word(name: &str) -> String {
    if name == "<stdin>" { "-".into() } else { quoted(name) }
}

/// Returns the word as a shell takes it: in quotes, if a character needs them.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_they_must() {
        let words = ["filetests/run/a.clif", "a b.clif", "'/a b/kingpost' alloc -", "%f(1)", ""].map(quoted);
        assert_eq!(words, ["filetests/run/a.clif", "'a b.clif'", r"''\''/a b/kingpost'\'' alloc -'", "'%f(1)'", "''"]);
    }
}
