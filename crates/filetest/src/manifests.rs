//! The dependencies between the crates of the workspace: the manifests allow no more than the list here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A crate folder, and its direct dependencies, which imply their own dependencies. Lower crates never name upper
/// ones. A new arrow is a commit of its own.
const ARROWS: &[(&str, &str)] = &[
    ("meter", ""),
    ("ir", "meter"),
    ("reader", "ir"),
    ("interpreter", "ir"),
    ("opt", "ir meter"),
    ("smt", ""),
    ("semantics", "ir smt"),
    // Never an instruction set, because the meanings judge what the instruction sets select and encode.
    ("machine-semantics", "smt"),
    ("validate", "ir machine-semantics semantics smt"),
    ("rules", "ir"),
    ("rule-verify", "interpreter ir reader rules semantics smt"),
    ("regalloc", "meter"),
    ("regalloc-common", "meter regalloc"),
    // Not even code shared by the other allocators, because it is a second opinion on them.
    ("regalloc-spill-all", "meter regalloc"),
    ("regalloc-linear", "meter regalloc regalloc-common"),
    ("regalloc-backtracking", "meter regalloc regalloc-common"),
    ("regalloc-ssa", "meter regalloc regalloc-common"),
    // Never an allocator, because the checker must be independent.
    ("checker", "meter regalloc"),
    ("mach", "ir meter regalloc"),
    // Allocates during the walk of lowering.
    ("regalloc-fused", "mach meter regalloc regalloc-common"),
    ("isa-x64", "ir mach regalloc"),
    ("isa-aarch64", "ir mach regalloc"),
    (
        "codegen",
        "checker ir isa-aarch64 isa-x64 mach meter opt regalloc regalloc-backtracking regalloc-fused regalloc-linear \
         regalloc-spill-all regalloc-ssa smt validate",
    ),
    ("debug-info", "codegen ir mach"),
    // Both are forms of the module that `codegen` describes.
    ("emit-object", "codegen debug-info ir mach"),
    ("jit", "codegen debug-info ir mach"),
    // Calls compiled functions in tests.
    ("isolate", "jit"),
    ("explain", "codegen ir mach regalloc validate"),
    ("testgen", "checker ir mach reader regalloc"),
];

/// Crates that may use all others.
const TOP: &[&str] = &["kingpost", "capi", "filetest", "cli", "bench", "demo", "difftest", "fuzz", "gate", "ci"];

/// Additional dependencies of tests.
const DEV_ARROWS: &[(&str, &str)] = &[
    ("regalloc-spill-all", "checker testgen"),
    ("regalloc-linear", "checker testgen"),
    ("regalloc-backtracking", "checker testgen"),
    ("regalloc-ssa", "checker testgen"),
    ("testgen", "regalloc-linear regalloc-spill-all"),
    ("reader", "testgen"),
    ("interpreter", "reader"),
    ("opt", "interpreter reader rule-verify rules semantics smt testgen"),
    ("semantics", "interpreter reader"),
    ("validate", "codegen reader testgen"),
    ("jit", "emit-object reader regalloc testgen"),
    ("isolate", "codegen ir mach reader"),
    ("emit-object", "reader regalloc"),
    ("isa-x64", "machine-semantics reader"),
    ("isa-aarch64", "reader"),
    ("codegen", "reader testgen"),
    ("explain", "reader"),
];

fn allowed(arrows: &[(&str, &str)], name: &str) -> Vec<String> {
    let row = arrows.iter().find(|(from, _)| *from == name).map_or("", |(_, to)| to);
    row.split_whitespace().map(str::to_string).collect()
}

/// Returns the workspace's crates in each section of a manifest, without their prefix.
fn named(manifest: &str) -> BTreeMap<&str, Vec<String>> {
    let mut sections: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut section = "";
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if let Some(rest) = line.strip_prefix("kingpost-") {
            let end = rest.find(|c: char| c != '-' && !c.is_alphanumeric()).unwrap_or(rest.len());
            sections.entry(section).or_default().push(rest[..end].to_string());
        }
    }
    sections
}

#[test]
fn manifests_follow_the_arrows() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut wrong = Vec::new();
    for entry in fs::read_dir(&crates).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Ok(manifest) = fs::read_to_string(path.join("Cargo.toml")) else { continue };
        if TOP.contains(&name.as_str()) {
            continue;
        }
        if !ARROWS.iter().any(|(from, _)| *from == name) {
            wrong.push(format!("crate {name} is not in the list"));
        }
        for (section, uses) in named(&manifest) {
            let mut may = allowed(ARROWS, &name);
            if section == "[dev-dependencies]" {
                may.extend(allowed(DEV_ARROWS, &name));
            }
            wrong.extend(
                uses.iter().filter(|used| !may.contains(used)).map(|used| format!("{name} → {used} in {section}")),
            );
        }
    }
    wrong.sort();
    assert!(wrong.is_empty(), "arrows that may not be:\n{}", wrong.join("\n"));
}
