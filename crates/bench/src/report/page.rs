//! The page: Markdown with tables and plots, and a CSV file with each table's numbers.

use anyhow::Result;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A page in progress, and its folder.
pub(super) struct Page {
    folder: PathBuf,
    text: String,
}

impl Page {
    pub(super) fn new(folder: &Path, title: &str) -> Result<Page> {
        std::fs::create_dir_all(folder)?;
        Ok(Page { folder: folder.into(), text: format!("# {title}\n") })
    }

    /// Returns the path of a file of the page.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    pub(super) fn heading(&mut self, text: &str) {
        println!("{text}");
        self.text += &format!("\n## {text}\n");
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        self.text += &format!("\n{text}\n");
    }

    /// Adds a table. The first column is text, all others are numbers.
    pub(super) fn table(&mut self, heading: &[&str], rows: &[Vec<String>]) {
        let mut line = |cells: Vec<&str>| self.text += &format!("| {} |\n", cells.join(" | "));
        line(heading.to_vec());
        line((0..heading.len()).map(|column| if column == 0 { "---" } else { "---:" }).collect());
        rows.iter().for_each(|row| line(row.iter().map(String::as_str).collect()));
    }

    pub(super) fn plot(&mut self, file: &str, title: &str) {
        self.text += &format!("\n![{title}]({file})\n");
    }

    /// Writes the measured numbers to a file, and adds a link to it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn numbers(&mut self, file: &str, heading: &[&str], rows: &[Vec<String>]) -> Result<()> {
        let mut text = heading.join(",") + "\n";
        rows.iter().try_for_each(|row| writeln!(text, "{}", row.join(",")))?;
        std::fs::write(self.path(file), text)?;
        self.paragraph(&format!("Every number: [{file}]({file})."));
        Ok(())
    }

    /// Writes the page, and returns its path.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn write(self) -> Result<PathBuf> {
        let path = self.path("report.md");
        std::fs::write(&path, self.text)?;
        Ok(path)
    }
}
