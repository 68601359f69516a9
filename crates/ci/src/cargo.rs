//! Commands of Cargo, and the programs of a build.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// Programs of one build.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Built {
    /// Programs by name.
    pub(crate) programs: BTreeMap<String, PathBuf>,
    /// Programs with tests, in the order of their names.
    pub(crate) tests: Vec<TestProgram>,
}

/// A program with the tests of one target of a package.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TestProgram {
    pub(crate) package: String,
    /// Words that select the target on Cargo's command line, as `--test NAME`.
    pub(crate) target: Vec<String>,
    pub(crate) path: PathBuf,
    /// Folder of the package, in which tests run.
    pub(crate) folder: PathBuf,
}

/// Returns a command of the Cargo that runs this program, or of the one in `PATH`.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words);
    command
}

impl Built {
    /// Returns the programs as JSON.
    pub(crate) fn json(&self) -> Value {
        let tests = self.tests.iter().map(|test| json!([test.package, test.target, test.path, test.folder]));
        json!({ "programs": self.programs, "tests": tests.collect::<Vec<_>>() })
    }

    /// Reads what [`Built::json`] wrote.
    pub(crate) fn of_json(value: &Value) -> Built {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let programs = value["programs"].as_object().into_iter().flatten();
        let programs = programs.map(|(name, path)| (name.clone(), text(path).into())).collect();
        let test = |row: &Value| TestProgram {
            package: text(&row[0]),
            target: array(&row[1]).iter().map(text).collect(),
            path: text(&row[2]).into(),
            folder: text(&row[3]).into(),
        };
        Built { programs, tests: array(&value["tests"]).iter().map(test).collect() }
    }

    /// Adds the program that a message of Cargo is about, if it is about one.
    pub(crate) fn add(&mut self, message: &Value) {
        let text = |value: &Value| value.as_str().map(str::to_string);
        let Some(path) = text(&message["executable"]) else { return };
        let Some(name) = text(&message["target"]["name"]) else { return };
        if message["profile"]["test"] != true {
            self.programs.insert(name, path.into());
            return;
        }
        let kind = text(&message["target"]["kind"][0]).unwrap_or_default();
        let target = match kind.as_str() {
            "test" | "bin" => vec![format!("--{kind}"), name],
            _ => vec!["--lib".to_string()],
        };
        let manifest = PathBuf::from(text(&message["manifest_path"]).unwrap_or_default());
        let folder = manifest.parent().map(PathBuf::from).unwrap_or_default();
        // `path+file:///folder#name@version`, or `#version` if the folder has the package's name.
        let id = text(&message["package_id"]).unwrap_or_default();
        let last = id.rsplit('#').next().unwrap_or_default();
        let package = match last.split_once('@') {
            Some((name, _)) => name.to_string(),
            None => folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        self.tests.push(TestProgram { package, target, path: path.into(), folder });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_messages() {
        let messages = [
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/cli#kingpost-cli@0.1.0","manifest_path":"/w/crates/cli/Cargo.toml","target":{"kind":["bin"],"name":"kingpost"},"profile":{"test":false},"executable":"/t/kingpost"}"#,
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/kingpost#0.1.0","manifest_path":"/w/crates/kingpost/Cargo.toml","target":{"kind":["test"],"name":"readme"},"profile":{"test":true},"executable":"/t/readme-1"}"#,
            r#"{"reason":"compiler-artifact","package_id":"x","target":{"kind":["lib"],"name":"x"},"profile":{"test":false},"executable":null}"#,
        ];
        let mut built = Built::default();
        messages.iter().for_each(|text| built.add(&serde_json::from_str(text).unwrap()));
        assert_eq!(built.programs.get("kingpost"), Some(&PathBuf::from("/t/kingpost")));
        let target = vec!["--test".to_string(), "readme".to_string()];
        let folder = "/w/crates/kingpost".into();
        let expected = TestProgram { package: "kingpost".into(), target, path: "/t/readme-1".into(), folder };
        assert_eq!(built.tests, [expected]);
        assert_eq!(Built::of_json(&built.json()), built);
    }
}
