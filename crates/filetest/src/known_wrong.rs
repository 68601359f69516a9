//! A list of directives with wrong expectations, for third-party tests.
//!
//! ```text
//! # FILE:LINE REASON
//! i128-conversion.clif:14 the number is 2^128 - 2^104
//! ```
//!
//! FILE is the end of a path. A directive in the list must not hold: if it does, the list or the program is wrong.

use std::path::Path;

/// The files and lines of directives that must not hold.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct KnownWrong(Vec<(String, u32)>);

impl KnownWrong {
    /// Reads a list.
    ///
    /// # Errors
    /// The number of the first malformed line, and its error.
    pub fn parse(text: &str) -> Result<KnownWrong, (usize, &'static str)> {
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let entries = lines.map(|(number, line)| {
            let (place, _reason) = line.split_once(' ').ok_or((number, "expected `FILE:LINE REASON`"))?;
            let (file, at) = place.rsplit_once(':').ok_or((number, "expected `FILE:LINE`"))?;
            Ok((file.to_string(), at.parse().map_err(|_| (number, "expected a line number behind the colon"))?))
        });
        entries.collect::<Result<_, _>>().map(KnownWrong)
    }

    pub(crate) fn contains(&self, file: &str, line: u32) -> bool {
        self.0.iter().any(|(name, at)| *at == line && Path::new(file).ends_with(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let list = KnownWrong::parse("# head\n\na.clif:3 why\n  b/a.clif:4 why not\n").unwrap();
        assert!(list.contains("x/a.clif", 3) && list.contains("x/b/a.clif", 4));
        assert!(!list.contains("x/a.clif", 4) && !list.contains("ba.clif", 3));
        assert_eq!(KnownWrong::parse("a.clif:3"), Err((1, "expected `FILE:LINE REASON`")));
        assert_eq!(KnownWrong::parse("#\na.clif why"), Err((2, "expected `FILE:LINE`")));
        assert_eq!(KnownWrong::parse("a.clif:x why"), Err((1, "expected a line number behind the colon")));
    }
}
