//! The parser of a whole `.ra` file.

use super::error::ParseErrorKind;
use super::file::{Case, File, Positions};
use super::lex::Token;
use super::parse::{Parser, Result};
use super::parse_allocation::allocation;
use super::parse_env::env;
use super::parse_problem::{Names, problem};

/// Parses a file: `env`, `problem` and `allocation` sections.
pub(super) fn file(text: &str) -> Result<File> {
    let mut p = Parser::new(text);
    let mut file = File::default();
    let mut names = Names::default();
    loop {
        p.skip_newlines();
        match p.token {
            Token::End => return Ok(file),
            Token::Word("env") if file.env.is_none() && file.cases.is_empty() => file.env = Some(env(&mut p)?),
            Token::Word("problem") => {
                names = Names::default();
                let mut positions = Positions { problem: p.start, ..Positions::default() };
                let problem = problem(&mut p, &mut names, &mut positions)?;
                file.cases.push(Case { problem, allocation: None, positions });
            }
            Token::Word("allocation") => match file.cases.last_mut() {
                Some(case) if case.allocation.is_none() => {
                    case.allocation = Some(allocation(&mut p, &case.problem, &names, &mut case.positions)?);
                }
                _ => return p.error(ParseErrorKind::NoProblem),
            },
            _ => return p.unexpected("`problem`, `allocation` or, first of all, `env`"),
        }
    }
}
