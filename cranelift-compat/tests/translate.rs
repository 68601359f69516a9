//! Checks that a function that Cranelift reads from our filetests, after translation, prints like the function that
//! our reader reads.

use cranelift_codegen::{ir, settings, verify_function};
use kingpost_ir::Opcode;
use kingpost_ir::verifier::verify;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Collects all texts under `folder`, sorted.
fn texts(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            texts(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "clif") {
            found.push(path);
        }
    }
}

/// Returns the text without aliases, because translation resolves them.
fn printed(func: &kingpost_ir::Function) -> String {
    let text = func.to_string();
    text.lines().filter(|line| !line.contains(" -> v")).map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Counts functions, and compares the two readings of each.
#[derive(Default)]
struct Comparison {
    functions: usize,
    opcodes: BTreeSet<String>,
    translated: kingpost_ir::Function,
}

impl Comparison {
    fn compare(&mut self, theirs: &ir::Function, ours: &mut kingpost_ir::Function) {
        cranelift_codegen::kingpost::translate(theirs, &mut self.translated).unwrap();
        ours.dfg.resolve_all_aliases();
        assert_eq!(printed(&self.translated), printed(ours));
        if verify_function(theirs, &settings::Flags::new(settings::builder())).is_ok() {
            assert_eq!(verify(&self.translated, None), verify(ours, None), "{theirs}");
        }
        for block in theirs.layout.blocks() {
            let insts = theirs.layout.block_insts(block);
            self.opcodes.extend(insts.map(|inst| theirs.dfg.insts[inst].opcode().to_string()));
        }
        self.functions += 1;
    }
}

#[test]
fn functions_keep_their_text() {
    let (mut files, mut comparison, mut unread) = (Vec::new(), Comparison::default(), 0);
    texts(Path::new("../filetests"), &mut files);
    for file in &files {
        let Ok(read) = kingpost_reader::parse_functions(fs::read_to_string(file).unwrap()) else { continue };
        for mut ours in read {
            // Cranelift's tables are as long as the largest number, and its reader panics on some numbers.
            ours.names.clear();
            let text = ours.to_string();
            match std::panic::catch_unwind(|| cranelift_reader::parse_functions(&text)) {
                Ok(Ok(theirs)) => comparison.compare(&theirs[0], &mut ours),
                _ => unread += 1,
            }
        }
    }
    let rare = include_str!("rare.clif");
    let theirs = cranelift_reader::parse_functions(rare).unwrap();
    let ours = kingpost_reader::parse_functions(rare).unwrap();
    theirs.iter().zip(ours).for_each(|(theirs, mut ours)| comparison.compare(theirs, &mut ours));
    let Comparison { functions, opcodes, .. } = comparison;
    println!("{functions} functions; Cranelift does not read {unread}");
    let missing: Vec<&str> =
        Opcode::ALL.iter().map(|op| op.info().name).filter(|name| !opcodes.contains(*name)).collect();
    assert!(missing.is_empty(), "no function has {missing:?}");
    assert!(functions > 500 && unread * 20 < functions, "{functions} functions, {unread} not read");
}
