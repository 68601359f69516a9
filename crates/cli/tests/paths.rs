//! Checks that objects depend on the folder of the text only if they have debug information.

use std::path::Path;
use std::process::Command;

const LOCATED: &str = "\
function %f(i32) -> i32 {
block0(v0: i32):
@0010    v1 = iadd v0, v0
@0020    return v1
}
";

/// Returns the object of a text in a folder.
fn object(folder: &Path, file: &Path, options: &[&str]) -> Vec<u8> {
    std::fs::create_dir_all(folder).expect("a folder");
    std::fs::write(folder.join("in.clif"), LOCATED).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kingpost"));
    command.current_dir(folder).arg("compile").args(options).args(["-o", "out.o"]).arg(file);
    let output = command.output().expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(folder.join("out.o")).expect("an object")
}

fn has(object: &[u8], word: &str) -> bool {
    object.windows(word.len()).any(|bytes| bytes == word.as_bytes())
}

#[test]
fn two_folders_give_one_object() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a folder");
    let [a, b] = ["ab", "b=b"].map(|name| root.join(name));
    let file = Path::new("in.clif");

    let [plain, other] = [&a, &b].map(|folder| object(folder, &folder.join(file), &[]));
    assert!(plain == other && !has(&plain, "debug_line") && !has(&plain, "in.clif"));

    let [debug, other] = [&a, &b].map(|folder| object(folder, file, &["-g"]));
    assert!(debug != other && has(&debug, "debug_line") && has(&debug, &a.display().to_string()));

    for by_name in [true, false] {
        let [remapped, other] = [&a, &b].map(|folder| {
            let file = if by_name { file.to_path_buf() } else { folder.join(file) };
            let (first, last) = (format!("{}=/wrong", root.display()), format!("{}=/src/x", folder.display()));
            object(folder, &file, &["-g", "--remap-path-prefix", &first, "--remap-path-prefix", &last])
        });
        assert!(remapped == other && has(&remapped, "/src/x") && has(&remapped, "in.clif"));
        assert!(!has(&remapped, &root.display().to_string()) && !has(&remapped, "/src/x/\0"));
    }

    // A part of a component is no prefix, and the remainder may be empty.
    let part = format!("{}=/part", root.join("a").display());
    assert!(!has(&object(&a, file, &["-g", "--remap-path-prefix", &part]), "/part"));
    let gone = format!("{}=", a.display());
    assert!(!has(&object(&a, file, &["-g", "--remap-path-prefix", &gone]), &root.display().to_string()));
}
