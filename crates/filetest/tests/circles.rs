//! Holds the circles of imports inside each crate to a list: at most four, none of more than five files.
//!
//! A circle is a strongly connected component of the graph whose nodes are the source files of a crate and whose edges
//! lead from a file to the file that defines a name it uses (Tarjan, "Depth-first search and linear graph algorithms",
//! 1972). Names are found in `use` declarations and in paths that begin with `crate`, `self`, `super`, a child module
//! or an imported module. A re-export is no use; names are followed through re-exports to the file of the definition.
//! Tests and macro bodies in other crates are not read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Largest number of files in one circle.
const MAX_FILES: usize = 5;

/// Largest number of circles in the workspace.
const MAX_CIRCLES: usize = 4;

/// Path of a module from the root of its crate; empty for the root.
type Module = Vec<String>;

/// One source file.
struct Source {
    path: PathBuf,
    tokens: Vec<Token>,
}

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Word(String),
    /// `::`
    Colons,
    Mark(char),
}

/// The sources of a crate by module, and the names that a module takes from elsewhere.
struct Crate {
    sources: BTreeMap<Module, Source>,
    imports: BTreeMap<Module, Imports>,
}

/// Files that use names of each other.
struct Circle {
    /// Number of files.
    files: usize,
    /// One line for each pair of files: `from -> to: names`.
    ties: String,
}

/// Names that the `use` declarations of a file bring into scope.
#[derive(Default)]
struct Imports {
    /// Absolute paths of names in scope.
    names: BTreeMap<String, Module>,
    /// Absolute paths of modules whose names are all in scope.
    globs: Vec<Module>,
}

#[test]
fn circles_of_files_are_few_and_small() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut crates: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    crates.sort();
    let (mut report, mut count) = (String::new(), 0);
    for root in crates.into_iter().filter(|path| path.join("src").is_dir()) {
        for circle in Crate::read(&root.join("src")).circles() {
            count += 1;
            let large = if circle.files > MAX_FILES { "TOO LARGE: " } else { "" };
            let name = root.file_name().unwrap().to_string_lossy();
            writeln!(report, "{large}{name}, {} files:\n{}", circle.files, circle.ties).unwrap();
        }
    }
    println!("{count} circles\n{report}");
    assert!(count <= MAX_CIRCLES && !report.contains("TOO LARGE"), "{count} circles of files:\n{report}");
}

impl Crate {
    /// Reads all sources below `root`.
    fn read(root: &Path) -> Crate {
        let mut sources = BTreeMap::new();
        collect(root, &mut Vec::new(), &mut sources);
        let mut all = Crate { sources, imports: BTreeMap::new() };
        for module in all.sources.keys().cloned().collect::<Vec<_>>() {
            let imports = all.read_imports(&module);
            all.imports.insert(module, imports);
        }
        all
    }

    /// Returns the circles.
    fn circles(&self) -> Vec<Circle> {
        let modules: Vec<&Module> = self.sources.keys().collect();
        let number = |module: &Module| modules.binary_search(&module).unwrap();
        let uses: Vec<_> = modules.iter().map(|module| self.uses(module)).collect();
        let edges: Vec<Vec<usize>> = uses.iter().map(|uses| uses.keys().map(number).collect()).collect();
        let mut circles = Vec::new();
        for component in components(&edges).into_iter().filter(|component| component.len() > 1) {
            let mut ties = String::new();
            for &from in &component {
                for (to, names) in uses[from].iter().filter(|(to, _)| component.contains(&number(to))) {
                    let (from, to) = (&self.sources[modules[from]].path, &self.sources[to].path);
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    writeln!(ties, "  {} -> {}: {}", from.display(), to.display(), names.join(", ")).unwrap();
                }
            }
            circles.push(Circle { files: component.len(), ties });
        }
        circles
    }

    /// Returns the modules whose names the file of `module` uses, with these names.
    fn uses(&self, module: &Module) -> BTreeMap<Module, BTreeSet<String>> {
        let mut found: BTreeMap<Module, BTreeSet<String>> = BTreeMap::new();
        let tokens = &self.sources[module].tokens;
        let mut add = |path: &[String]| {
            if let Some((definer, name)) = self.definer(path, 8) {
                found.entry(definer).or_default().insert(name);
            }
        };
        for Import { path, name, is_public } in use_paths(tokens) {
            if let (Some(path), false) = (self.absolute(module, &path), is_public || name == "*") {
                add(&path);
            }
        }
        for path in plain_paths(tokens) {
            if let Some(path) = self.absolute(module, &path) {
                add(&path);
            }
        }
        for glob in &self.imports[module].globs {
            let words = tokens.iter().filter_map(|token| match token {
                Token::Word(word) => Some(word),
                _ => None,
            });
            let defined = |word: &&String| self.sources.get(glob).is_some_and(|source| defines(&source.tokens, word));
            for word in words.filter(defined).collect::<BTreeSet<_>>() {
                add(&[glob.as_slice(), std::slice::from_ref(word)].concat());
            }
        }
        found.remove(module);
        found
    }

    /// Reads the `use` declarations of `module`.
    fn read_imports(&self, module: &Module) -> Imports {
        let mut imports = Imports::default();
        for Import { path, name, .. } in use_paths(&self.sources[module].tokens) {
            let Some(path) = self.rooted(module, &path) else { continue };
            match name.as_str() {
                "*" => imports.globs.push(path),
                _ => drop(imports.names.insert(name, path)),
            }
        }
        imports
    }

    /// Returns `path`, as written in `module`, from the root of the crate, if its first word says that it leads there.
    fn rooted(&self, module: &Module, path: &[String]) -> Option<Module> {
        let mut base = module.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|word| word == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            first => {
                base.push(first.to_string());
                if !self.sources.contains_key(&base) {
                    return None;
                }
                rest = &rest[1..];
            }
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    /// Returns the absolute path of `path`, as [`Crate::rooted`] does, and through the imports of `module`.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        self.rooted(module, path).or_else(|| {
            let mut found = self.imports.get(module)?.names.get(path.first()?)?.clone();
            found.extend_from_slice(&path[1..]);
            Some(found)
        })
    }

    /// Returns the first name of `path` that is no module, and the module that defines it, following at most `depth`
    /// re-exports.
    fn definer(&self, path: &[String], depth: usize) -> Option<(Module, String)> {
        let known = (0..=path.len()).rev().find(|&n| self.sources.contains_key(&path[..n]))?;
        let (module, name) = (path[..known].to_vec(), path.get(known)?);
        let (source, imports) = (&self.sources[&module], self.imports.get(&module)?);
        if depth == 0 || defines(&source.tokens, name) {
            return Some((module, name.clone()));
        }
        if let Some(target) = imports.names.get(name) {
            return self.definer(&[target.as_slice(), &path[known + 1..]].concat(), depth - 1);
        }
        let from_glob = imports.globs.iter().find_map(|glob| {
            let source = self.sources.get(glob)?;
            defines(&source.tokens, name).then(|| glob.clone())
        });
        // Macros define names too; those of the root are macros for all crates.
        Some((from_glob.or_else(|| (!module.is_empty()).then_some(module))?, name.clone()))
    }
}

/// Collects the sources in the folder of `module`.
fn collect(folder: &Path, module: &mut Module, sources: &mut BTreeMap<Module, Source>) {
    collect_below(folder, folder, module, sources);
}

fn collect_below(root: &Path, folder: &Path, module: &mut Module, sources: &mut BTreeMap<Module, Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let is_root = matches!(stem.as_str(), "lib" | "main" | "mod");
        if path.is_dir() {
            module.push(stem);
            collect_below(root, &path, module, sources);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") && stem != "tests" {
            let mut name = module.clone();
            name.extend((!is_root).then_some(stem));
            let tokens = without_tests(tokens(&fs::read_to_string(&path).unwrap()));
            sources.insert(name, Source { path: path.strip_prefix(root).unwrap().to_path_buf(), tokens });
        }
    }
}

/// Splits Rust text into words, `::` and other marks, without comments, strings and characters.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let (mut out, mut i) = (Vec::new(), 0);
    while i < chars.len() {
        let c = chars[i];
        if c == '/' && at(i + 1) == '/' {
            while i < chars.len() && chars[i] != '\n' {
                i += 1;
            }
        } else if c == '"' {
            i += 1;
            while i < chars.len() && chars[i] != '"' {
                i += 1 + usize::from(chars[i] == '\\');
            }
            i += 1;
        } else if c == '\'' && (at(i + 2) == '\'' || at(i + 1) == '\\') {
            i += 2;
            while i < chars.len() && chars[i] != '\'' {
                i += 1;
            }
            i += 1;
        } else if c.is_alphanumeric() || c == '_' {
            let start = i;
            while at(i).is_alphanumeric() || at(i) == '_' {
                i += 1;
            }
            let word: String = chars[start..i].iter().collect();
            if at(i) == '#' && word == "r" {
                i = end_of_raw_string(&chars, i);
            } else {
                out.push(Token::Word(word));
            }
        } else if c == ':' && at(i + 1) == ':' {
            out.push(Token::Colons);
            i += 2;
        } else {
            if !c.is_whitespace() {
                out.push(Token::Mark(c));
            }
            i += 1;
        }
    }
    out
}

/// Returns the index after the raw string whose first `#` is at `start`.
fn end_of_raw_string(chars: &[char], start: usize) -> usize {
    let hashes = chars[start..].iter().take_while(|&&c| c == '#').count();
    let mut i = start + hashes + 1;
    while i < chars.len() {
        if chars[i] == '"' && chars[i + 1..].iter().take_while(|&&c| c == '#').count() >= hashes {
            return i + 1 + hashes;
        }
        i += 1;
    }
    i
}

/// Removes each item after `#[cfg(test)]` or `#[cfg(all(test, ...))]`.
fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    let cfg = [mark('#'), mark('['), word("cfg"), mark('(')];
    let (alone, with_more) = ([word("test")], [word("all"), mark('('), word("test")]);
    let is_test = |rest: &[Token]| {
        rest.strip_prefix(&cfg).is_some_and(|rest| rest.starts_with(&alone) || rest.starts_with(&with_more))
    };
    let (mut out, mut i) = (Vec::new(), 0);
    while i < tokens.len() {
        if is_test(&tokens[i..]) {
            let attribute = tokens[i..].iter().take_while(|token| **token != mark(']')).count();
            i = end_of_item(&tokens, i + attribute + 1);
        } else {
            out.push(tokens[i].clone());
            i += 1;
        }
    }
    out
}

/// Returns the index after the item that begins at `start`.
fn end_of_item(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(start) {
        match token {
            Token::Mark('{' | '(' | '[') => depth += 1,
            Token::Mark('}') if depth == 1 => return i + 1,
            Token::Mark('}' | ')' | ']') => depth -= 1,
            Token::Mark(';') if depth == 0 => return i + 1,
            _ => {}
        }
    }
    tokens.len()
}

fn word(text: &str) -> Token {
    Token::Word(text.to_string())
}

fn mark(c: char) -> Token {
    Token::Mark(c)
}

/// One name of a `use` declaration.
struct Import {
    path: Vec<String>,
    /// Name in scope; `*` for all names of a module.
    name: String,
    /// Whether the name is re-exported.
    is_public: bool,
}

/// Returns the names of all `use` declarations.
fn use_paths(tokens: &[Token]) -> Vec<Import> {
    let mut out = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        if *token == word("use") {
            let is_public = i > 0 && [word("pub"), mark(')')].contains(&tokens[i - 1]);
            let mut names = Vec::new();
            read_tree(tokens, i + 1, &[], &mut names);
            out.extend(names.into_iter().map(|(path, name)| Import { path, name, is_public }));
        }
    }
    out
}

/// Reads the tree of a `use` declaration at `i` below `prefix`; returns the index after it.
fn read_tree(tokens: &[Token], mut i: usize, prefix: &[String], out: &mut Vec<(Vec<String>, String)>) -> usize {
    let mut path = prefix.to_vec();
    loop {
        match tokens.get(i) {
            Some(Token::Word(part)) if part == "as" => {
                if let Some(Token::Word(name)) = tokens.get(i + 1) {
                    out.push((path, name.clone()));
                }
                return i + 2;
            }
            Some(Token::Word(part)) => path.push(part.clone()),
            Some(Token::Colons) => {}
            Some(Token::Mark('*')) => {
                out.push((path, "*".to_string()));
                return i + 1;
            }
            Some(Token::Mark('{')) => {
                i += 1;
                while let Some(token) = tokens.get(i) {
                    match token {
                        Token::Mark('}') => return i + 1,
                        Token::Mark(',') => i += 1,
                        _ => i = read_tree(tokens, i, &path, out).max(i + 1),
                    }
                }
                return i;
            }
            _ => {
                if path.last().is_some_and(|last| last == "self") {
                    path.pop();
                }
                if let Some(name) = path.last().cloned() {
                    out.push((path, name));
                }
                return i;
            }
        }
        i += 1;
    }
}

/// Returns all paths of two or more words outside `use` declarations.
fn plain_paths(tokens: &[Token]) -> Vec<Vec<String>> {
    let (mut out, mut i) = (Vec::new(), 0);
    while i < tokens.len() {
        if tokens[i] == word("use") {
            while i < tokens.len() && tokens[i] != mark(';') {
                i += 1;
            }
        }
        let mut path = Vec::new();
        while let Some(Token::Word(part)) = tokens.get(i) {
            path.push(part.clone());
            i += 1;
            if tokens.get(i) != Some(&Token::Colons) {
                break;
            }
            i += 1;
        }
        match path.len() {
            0 => i += 1,
            1 => {}
            _ => out.push(path),
        }
    }
    out
}

/// Returns `true` if an item called `name` is defined in `tokens`.
fn defines(tokens: &[Token], name: &str) -> bool {
    const KINDS: &[&str] = &["fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro_rules"];
    tokens.windows(2).any(|pair| match pair {
        [Token::Word(kind), Token::Word(found)] => found == name && KINDS.contains(&kind.as_str()),
        _ => false,
    })
}

/// Returns the strongly connected components of a graph given by the successors of each node.
fn components(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let reach: Vec<BTreeSet<usize>> = (0..edges.len()).map(|node| reachable(edges, node)).collect();
    let mut out: Vec<Vec<usize>> = Vec::new();
    for node in 0..edges.len() {
        match out.iter_mut().find(|c| reach[node].contains(&c[0]) && reach[c[0]].contains(&node)) {
            Some(component) => component.push(node),
            None => out.push(vec![node]),
        }
    }
    out
}

/// Returns the nodes that one or more edges from `start` lead to.
fn reachable(edges: &[Vec<usize>], start: usize) -> BTreeSet<usize> {
    let (mut seen, mut stack) = (BTreeSet::new(), edges[start].clone());
    while let Some(node) = stack.pop() {
        if seen.insert(node) {
            stack.extend(&edges[node]);
        }
    }
    seen
}

#[test]
fn a_planted_circle_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("lib.rs", "mod a; mod b; mod c; pub use a::First;");
    write("a.rs", "use crate::b::Second; pub struct First; // crate::c::Third");
    write("b.rs", "pub struct Second; impl Second { fn f() { let _ = super::c::Third; } }");
    write("c.rs", "pub struct Third; #[cfg(all(test, unix))] mod tests { use crate::a::First; }");
    assert!(Crate::read(folder.path()).circles().is_empty());
    write("c.rs", "use crate::First; pub struct Third(First);");
    let all = Crate::read(folder.path());
    let ties = "  a.rs -> b.rs: Second\n  b.rs -> c.rs: Third\n  c.rs -> a.rs: First\n";
    assert_eq!(
        all.circles().iter().map(|circle| (circle.files, circle.ties.as_str())).collect::<Vec<_>>(),
        [(3, ties)]
    );
}
