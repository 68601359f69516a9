//! Reads a text in every way that this crate offers, for tests with mutated texts.

use kingpost_ir::Function;
use kingpost_ir::verifier::Verifier;
use std::fmt;

use crate::error::Error;
use crate::parser::{Options, Parser};
use crate::run_command::RunCommand;
use crate::testfile::parse_test;

/// A function that was read, but whose printed form is read as another function, or not at all.
#[derive(Debug)]
pub struct NotReadAgain {
    /// The printed function.
    pub printed: String,
    /// The other function, or the error.
    pub outcome: Result<String, Error>,
}

impl fmt::Display for NotReadAgain {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.outcome {
            Ok(other) => write!(f, "prints as\n{}\nwhich reads and prints as\n{other}", self.printed),
            Err(error) => write!(f, "prints as\n{}\nwhich does not read: {error}", self.printed),
        }
    }
}

/// Reads all functions, continuing after errors, and then the text as a test file with its directives. Every
/// function that is read and verified must print as a text that is read as an equal function. Returns the number of
/// functions read.
///
/// # Errors
/// The first function that is not read as an equal function.
pub fn read_in_every_way(text: &[u8]) -> Result<usize, Box<NotReadAgain>> {
    let mut functions = 0;
    if let Ok(mut parser) = Parser::new(text, Options::default()) {
        let (mut func, mut other, mut verifier) = (Function::default(), Function::default(), Verifier::default());
        loop {
            match parser.next_function(&mut func) {
                Ok(true) => {
                    functions += 1;
                    if verifier.verify(&func, None).is_ok() {
                        read_again(&func, &mut other)?;
                    }
                }
                Ok(false) => break,
                Err(_) if parser.skip_to_next_function() => {}
                Err(_) => break,
            }
        }
        // Malformed data may be an error, but must not cause a panic.
        drop(parser.data());
    }
    if let Ok(text) = std::str::from_utf8(text)
        && let Ok(file) = parse_test(text, Options::default())
    {
        for test in &file.functions {
            for comment in &test.comments {
                drop(RunCommand::parse(comment, &test.function.signature));
            }
        }
    }
    Ok(functions)
}

fn read_again(func: &Function, other: &mut Function) -> Result<(), Box<NotReadAgain>> {
    let printed = func.to_string();
    let read = Parser::new(printed.as_bytes(), Options::default()).and_then(|mut parser| parser.next_function(other));
    match read {
        Ok(_) if other.to_string() == printed => Ok(()),
        Ok(_) => Err(Box::new(NotReadAgain { printed, outcome: Ok(other.to_string()) })),
        Err(error) => Err(Box::new(NotReadAgain { printed, outcome: Err(error) })),
    }
}
