//! The lines of a test file in front of its functions: commands, settings, targets, features.

use crate::error::{ErrorKind, Result, fault};
use crate::lexer::Lexer;

/// A `test` line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestCommand {
    /// The command, as `run`.
    pub name: String,
    /// The words behind it.
    pub options: Vec<String>,
}

/// A word of a `set` line or behind a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// What is set.
    pub name: String,
    /// What to; `None` if the name stands alone.
    pub value: Option<String>,
}

/// A `target` line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The triple, or an architecture alone.
    pub triple: String,
    /// Flags and presets, in order.
    pub flags: Vec<Setting>,
    /// So many of [`Header::settings`], from the first on, hold for this target.
    pub settings: usize,
}

/// A `feature` line: a condition on how the compiler was built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Feature {
    /// The feature.
    pub name: String,
    /// Whether it must be there, or must not.
    pub wanted: bool,
}

/// Everything in front of the functions.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Header {
    /// The `test` lines in order.
    pub commands: Vec<TestCommand>,
    /// All words of the `set` lines in order.
    pub settings: Vec<Setting>,
    /// The `target` lines in order.
    pub targets: Vec<Target>,
    /// The `feature` lines in order.
    pub features: Vec<Feature>,
}

impl Header {
    /// Whether there is a `test` line with this command.
    pub fn has_command(&self, name: &str) -> bool {
        self.commands.iter().any(|command| command.name == name)
    }
}

/// Reads the lines in their fixed order.
pub(crate) fn header(lexer: &mut Lexer) -> Result<Header> {
    let mut header = Header::default();
    while lexer.eat_word(b"test") {
        header.commands.push(test_line(lexer)?);
    }
    let mut last_set = None;
    loop {
        lexer.skip();
        let position = lexer.position();
        if lexer.eat_word(b"set") {
            last_set = Some(position);
            header.settings.extend(settings(lexer));
        } else if lexer.eat_word(b"target") {
            last_set = None;
            let settings = header.settings.len();
            header.targets.push(target_line(lexer, settings)?);
        } else {
            break;
        }
    }
    match last_set {
        Some(position) if !header.targets.is_empty() => return fault(position, ErrorKind::SettingAfterTargets),
        _ => {}
    }
    while lexer.eat_word(b"feature") {
        let wanted = !lexer.eat(b'!');
        header.features.push(Feature { name: lexer.string()?.to_string(), wanted });
    }
    Ok(header)
}

fn words(lexer: &mut Lexer) -> Vec<String> {
    let rest = String::from_utf8_lossy(lexer.rest_of_line()).into_owned();
    rest.split_ascii_whitespace().map(str::to_string).collect()
}

fn setting(word: String) -> Setting {
    match word.split_once('=') {
        Some((name, value)) => Setting { name: name.to_string(), value: Some(value.to_string()) },
        None => Setting { name: word, value: None },
    }
}

fn settings(lexer: &mut Lexer) -> Vec<Setting> {
    words(lexer).into_iter().map(setting).collect()
}

fn test_line(lexer: &mut Lexer) -> Result<TestCommand> {
    let mut words = words(lexer).into_iter();
    match words.next() {
        Some(name) => Ok(TestCommand { name, options: words.collect() }),
        None => lexer.expected("a test command in this line"),
    }
}

fn target_line(lexer: &mut Lexer, settings: usize) -> Result<Target> {
    let mut words = words(lexer).into_iter();
    match words.next() {
        Some(triple) => Ok(Target { triple, flags: words.map(setting).collect(), settings }),
        None => lexer.expected("a target in this line"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> std::result::Result<Header, String> {
        let mut lexer = Lexer::new(text.as_bytes(), false);
        header(&mut lexer).map_err(|fault| fault.locate(text.as_bytes()).to_string())
    }

    #[test]
    fn lines_in_order() {
        let text = "; first\ntest run\ntest compile precise-output ; why\nset opt_level=speed a\ntarget x86_64 sse41 has_avx=false\n\
                    set b\ntarget aarch64\nfeature \"x\"\nfeature ! \"y\"\nfunction";
        let header = read(text).unwrap();
        assert_eq!(header.commands[1].options, ["precise-output"]);
        assert_eq!(header.settings.len(), 3);
        assert_eq!((header.targets[0].settings, header.targets[1].settings), (2, 3));
        assert_eq!(header.targets[0].flags[1].value.as_deref(), Some("false"));
        assert_eq!(header.features.iter().map(|feature| feature.wanted).collect::<Vec<_>>(), [true, false]);
        assert!(header.has_command("run") && !header.has_command("cat"));
    }

    #[test]
    fn errors() {
        assert_eq!(read("test\ntest x"), Err("2:1: expected a test command in this line, found `test`".into()));
        assert_eq!(read("target x\nset y"), Err("2:1: a `set` line behind the last `target` line".into()));
        assert!(read("set y\ntarget x").is_ok() && read("set y").is_ok());
    }
}
