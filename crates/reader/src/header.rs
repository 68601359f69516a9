//! The lines of a test file before its functions: commands, settings, targets, and features.

use crate::error::{ErrorKind, Result, fault};
use crate::lexer::Lexer;

/// A `test` line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestCommand {
    /// Offset of its first byte in the text.
    pub start: usize,
    /// The command, such as `run`.
    pub name: String,
    /// The words after the command.
    pub options: Vec<String>,
}

/// A word of a `set` line or after a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Name of the setting.
    pub name: String,
    /// Value of the setting; `None` if only the name is written.
    pub value: Option<String>,
    /// Offset of its first byte in the text.
    pub start: usize,
}

/// A `target` line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The triple, or only an architecture.
    pub triple: String,
    /// Flags and presets, in order.
    pub flags: Vec<Setting>,
    /// Number of the [`Header::settings`], from the first on, that apply to this target.
    pub settings: usize,
    /// Offset of the first byte of the triple in the text.
    pub start: usize,
}

/// A `feature` line: a condition on how the compiler was built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Feature {
    /// Name of the feature.
    pub name: String,
    /// Whether the feature must be present; otherwise it must be absent.
    pub wanted: bool,
}

/// All lines before the functions.
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
    /// Returns `true` if there is a `test` line with this command.
    pub fn has_command(&self, name: &str) -> bool {
        self.commands.iter().any(|command| command.name == name)
    }

    /// Returns the offset of the last word that sets `key`. If there is none, returns the offset of the first
    /// `target` line, or else 0.
    pub fn start_of(&self, key: &str) -> usize {
        let flags = self.targets.iter().flat_map(|target| &target.flags);
        let mut words = self.settings.iter().chain(flags).filter(|word| word.name == key).map(|word| word.start);
        words.next_back().or(self.targets.first().map(|target| target.start)).unwrap_or_default()
    }
}

/// Parses the lines in their fixed order.
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
            header.settings.extend(words(lexer).into_iter().map(setting));
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

/// Returns the words up to the end of the line, each with the offset of its first byte in the text.
fn words(lexer: &mut Lexer) -> Vec<(usize, String)> {
    let rest = lexer.rest_of_line();
    let text = &lexer.text()[rest.clone()];
    let mut start = rest.start;
    let mut words = Vec::new();
    for word in text.split(u8::is_ascii_whitespace) {
        if !word.is_empty() {
            words.push((start, String::from_utf8_lossy(word).into_owned()));
        }
        start += word.len() + 1;
    }
    words
}

fn setting((start, word): (usize, String)) -> Setting {
    match word.split_once('=') {
        Some((name, value)) => Setting { name: name.to_string(), value: Some(value.to_string()), start },
        None => Setting { name: word, value: None, start },
    }
}

fn test_line(lexer: &mut Lexer) -> Result<TestCommand> {
    let mut words = words(lexer).into_iter();
    match words.next() {
        Some((start, name)) => Ok(TestCommand { start, name, options: words.map(|(_, word)| word).collect() }),
        None => lexer.expected("a test command in this line"),
    }
}

fn target_line(lexer: &mut Lexer, settings: usize) -> Result<Target> {
    let mut words = words(lexer).into_iter();
    match words.next() {
        Some((start, triple)) => Ok(Target { triple, flags: words.map(setting).collect(), settings, start }),
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
        assert_eq!(read("target x\nset y"), Err("2:1: a `set` line after the last `target` line".into()));
        assert!(read("set y\ntarget x").is_ok() && read("set y").is_ok());
    }
}
