//! Mutants of the texts in this repository, for readers.

use crate::repeat::repeat;
use anyhow::{Context, Result, ensure};
use kingpost_testgen::text::{TextReport, read_ra, readers};
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;

/// A kind of text: the name of the target, where good ones are, and what reads them.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    folder: &'static str,
    read: fn(&[u8]) -> Result<usize, String>,
}

/// The kinds of texts that can be read.
pub(crate) const KINDS: &[Kind] = &[
    Kind { name: "clif", folder: "../../filetests/parser", read: read_clif },
    Kind { name: "ra", folder: "../../filetests/regalloc/paper", read: read_ra },
];

fn read_clif(text: &[u8]) -> Result<usize, String> {
    kingpost_reader::read_in_every_way(text).map_err(|failure| failure.to_string())
}

/// Reads a mutant for each seed.
pub(crate) fn run(kind: &Kind, chunks: Vec<Range<u64>>) -> Result<TextReport> {
    let texts = good_texts(kind)?;
    let reports = chunks.into_par_iter().map(|seeds| {
        readers(&texts, seeds, &kind.read).map_err(|failure| repeat(kind.name, failure.seed, &failure.to_string()))
    });
    reports.try_reduce(TextReport::default, |mut a, b| {
        a.add(&b);
        Ok(a)
    })
}

/// Returns the files of a kind, in the order of their names.
fn good_texts(kind: &Kind) -> Result<Vec<Vec<u8>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(kind.folder);
    let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    let texts = paths.iter().map(|path| Ok(std::fs::read(path)?)).collect::<Result<Vec<_>>>()?;
    ensure!(!texts.is_empty(), "no texts in {}", folder.display());
    Ok(texts)
}
