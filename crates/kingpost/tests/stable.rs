//! Compares the list of stable names in the book with the names that the library exports.

use std::collections::BTreeSet;

const BOOK: &str = include_str!("../../../docs/stability.md");
const FACADE: &str = include_str!("../src/lib.rs");
const CODEGEN: &str = include_str!("../../codegen/src/lib.rs");

/// Adds the last name of each path of a `use` tree to `out`, with `self` as the name before it.
fn names<'a>(tree: &'a str, parent: &'a str, out: &mut BTreeSet<&'a str>) {
    let (path, rest) = tree.split_once('{').map_or((tree, ""), |(path, rest)| (path, rest));
    if rest.is_empty() {
        let last = path.trim().rsplit("::").next().unwrap_or_default();
        out.insert(if last == "self" { parent } else { last });
        return;
    }
    let parent = path.trim_end_matches("::").rsplit("::").next().unwrap_or_default();
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    inner.split(',').map(str::trim).filter(|part| !part.is_empty()).for_each(|part| names(part, parent, out));
}

/// Returns the names of the `use` declarations that begin with `start`.
fn used<'a>(text: &'a str, start: &str) -> BTreeSet<&'a str> {
    let mut out = BTreeSet::new();
    for (at, _) in text.match_indices(start) {
        let tree = text[at..].trim_start_matches("pub ").trim_start_matches("use ");
        names(tree.split_once(';').map_or(tree, |(tree, _)| tree), "", &mut out);
    }
    out
}

/// Returns the names that the module `name` of a source exports.
fn exported<'a>(source: &'a str, name: &str) -> BTreeSet<&'a str> {
    let (_, body) = source.split_once(&format!("pub mod {name} {{")).expect("the module is in the source");
    used(body.split_once("\n}").map_or(body, |(body, _)| body), "pub use ")
}

#[test]
fn the_list_has_every_name() {
    for (module, source) in [("prelude", FACADE), ("compiled", CODEGEN), ("settings", CODEGEN)] {
        let listed = used(BOOK, &format!("use kingpost::{module}::{{\n"));
        let exported = exported(source, module);
        assert!(exported.len() > 3, "the names of `{module}` are found");
        assert_eq!(listed, exported, "`{module}` in docs/stability.md, and in the source");
    }
}

#[test]
fn no_module_is_a_crate_of_the_inside() {
    for name in ["kingpost_mach", "kingpost_opt", "kingpost_isa_x64", "kingpost_isa_aarch64"] {
        assert!(!FACADE.contains(name), "the library exports {name}");
    }
}
