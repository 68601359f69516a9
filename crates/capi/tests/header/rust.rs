//! Reads the sources of the interface: the functions of `entries!` blocks, structures, and types of callbacks.

use std::fs;
use std::path::Path;

/// A function of the interface.
pub(crate) struct Function {
    pub(crate) docs: Vec<String>,
    pub(crate) name: String,
    /// Name and type of each parameter.
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) result: String,
}

/// A structure, with the documentation, name and type of each field.
pub(crate) struct Structure {
    pub(crate) docs: Vec<String>,
    pub(crate) name: String,
    pub(crate) fields: Vec<(Vec<String>, String, String)>,
}

/// A type of callbacks.
pub(crate) struct Callback {
    pub(crate) docs: Vec<String>,
    pub(crate) name: String,
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) result: String,
}

/// Everything in one file.
#[derive(Default)]
pub(crate) struct File {
    /// First sentence of the file's documentation.
    pub(crate) title: String,
    pub(crate) structures: Vec<Structure>,
    pub(crate) callbacks: Vec<Callback>,
    pub(crate) functions: Vec<Function>,
}

/// Returns the text of a source file.
pub(crate) fn source(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads a file.
pub(crate) fn read(name: &str) -> File {
    let text = source(name);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut file = File::default();
    let title = lines.iter().take_while(|line| line.starts_with("//!")).map(|line| line[3..].trim());
    file.title = title.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let (mut docs, mut is_c, mut index) = (Vec::new(), false, 0);
    while let Some(&line) = lines.get(index) {
        index += 1;
        if let Some(doc) = line.strip_prefix("///") {
            docs.push(doc.strip_prefix(' ').unwrap_or(doc).to_string());
        } else if line == "#[repr(C)]" {
            is_c = true;
        } else if line.starts_with("#[") {
            // Other attributes do not concern C.
        } else {
            let docs = std::mem::take(&mut docs);
            if line.starts_with("fn kp_") {
                let head = head(&lines, &mut index, "{");
                file.functions.push(function(docs, &head));
            } else if let Some(name) = line.strip_prefix("pub struct ").filter(|_| is_c) {
                let name = name.trim_end_matches(" {").to_string();
                file.structures.push(Structure { docs, name, fields: fields(&lines, &mut index) });
            } else if line.starts_with("pub type ") {
                let head = head(&lines, &mut index, ";");
                file.callbacks.push(callback(docs, &head));
            }
            is_c = false;
        }
    }
    file
}

/// Returns the text from the line before `index` to the first line that ends in `end`, on one line.
fn head(lines: &[&str], index: &mut usize, end: &str) -> String {
    let mut text = lines[*index - 1].to_string();
    while !text.ends_with(end) && !text.contains(&format!("{end} ")) {
        text.push(' ');
        text.push_str(lines[*index]);
        *index += 1;
    }
    text
}

/// Returns names and types of parameters that are separated by commas.
fn parameters(text: &str) -> Vec<(String, String)> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    let parts = parts.into_iter().map(str::trim).filter(|part| !part.is_empty());
    let pair = |part: &str| part.split_once(": ").map(|(name, ty)| (name.to_string(), ty.to_string()));
    parts.map(|part| pair(part).unwrap_or_else(|| panic!("a parameter: {part}"))).collect()
}

fn function(docs: Vec<String>, head: &str) -> Function {
    let open = head.find('(').expect("parameters");
    let close = closing(head, open);
    let (name, inside, after) = (&head["fn ".len()..open], &head[open + 1..close], &head[close + 1..]);
    let after = after.split('{').next().unwrap_or_default().trim();
    let mut result = after.strip_prefix("-> ").unwrap_or("").trim().to_string();
    let (name, is_builder) = match name.split_once('[') {
        Some((name, _)) => (name, true),
        None => (name, false),
    };
    let (inside, can_fail) = match inside.trim().strip_suffix("error") {
        Some(inside) => (inside.trim().trim_end_matches(';'), true),
        None => (inside, false),
    };
    let mut all = parameters(inside);
    if is_builder {
        all.insert(0, ("builder".into(), "Handle<Builder>".into()));
    }
    if can_fail {
        all.push(("error".into(), "Out<'_, Error>".into()));
        result = "Status".into();
    }
    Function { docs, name: name.into(), parameters: all, result }
}

/// Returns the offset of the bracket that closes the one at `open`.
fn closing(text: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, c) in text[open..].char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return open + at;
        }
    }
    panic!("no closing bracket: {text}")
}

fn fields(lines: &[&str], index: &mut usize) -> Vec<(Vec<String>, String, String)> {
    let (mut fields, mut docs) = (Vec::new(), Vec::new());
    while lines[*index] != "}" {
        let line = lines[*index];
        *index += 1;
        if let Some(doc) = line.strip_prefix("/// ") {
            docs.push(doc.to_string());
        } else if let Some((name, ty)) = line.trim_end_matches(',').split_once(": ") {
            let name = name.trim_start_matches("pub ").to_string();
            fields.push((std::mem::take(&mut docs), name, ty.to_string()));
        }
    }
    fields
}

fn callback(docs: Vec<String>, head: &str) -> Callback {
    let name = head["pub type ".len()..].split([' ', '<']).next().expect("a name").to_string();
    let open = head.find("fn(").expect("a function") + 2;
    let close = closing(head, open);
    let after = head[close + 1..].trim_end_matches([';', '>', ' ']).trim();
    let result = after.strip_prefix("-> ").unwrap_or("").to_string();
    Callback { docs, name, parameters: parameters(&head[open + 1..close]), result }
}
