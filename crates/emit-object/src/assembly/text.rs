//! Lines of the text.

use std::fmt::{Display, Write};

/// Text for the assembler.
#[derive(Default, Debug)]
pub(super) struct Text(String);

impl Text {
    /// Adds a directive, an instruction or a comment.
    pub(super) fn line(&mut self, words: impl Display) {
        let _ = writeln!(self.0, "    {words}");
    }

    /// Defines a label.
    pub(super) fn label(&mut self, name: impl Display) {
        let _ = writeln!(self.0, "{name}:");
    }

    /// Adds bytes. Trailing zeros are written as a count.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let zeros = bytes.iter().rev().take_while(|&&byte| byte == 0).count();
        let (head, zeros) = if zeros > 16 { bytes.split_at(bytes.len() - zeros) } else { (bytes, &[][..]) };
        for row in head.chunks(16) {
            let row: Vec<String> = row.iter().map(|byte| format!("{byte:#04x}")).collect();
            self.line(format_args!(".byte {}", row.join(", ")));
        }
        self.zeros(zeros.len() as u64);
    }

    /// Adds this many zero bytes.
    pub(super) fn zeros(&mut self, count: u64) {
        if count > 0 {
            self.line(format_args!(".zero {count}"));
        }
    }

    pub(super) fn append(&mut self, other: &Text) {
        self.0 += &other.0;
    }
}

impl From<Text> for String {
    fn from(text: Text) -> String {
        text.0
    }
}
