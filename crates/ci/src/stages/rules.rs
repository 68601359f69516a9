//! Rewrite rules that others wrote: a wrong rule may not pass, and a correct one may not be refused.

use crate::session::{Session, failure};
use crate::tier::Tier;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::Path;

/// A rule of the corpus and the verdict on it.
struct Rule {
    file: String,
    verdict: String,
}

pub(crate) fn run(session: &mut Session) -> Result<()> {
    let Some(corpus) = session.corpus() else { return Ok(()) };
    if !session.has_tools(&["z3", "cvc5"], "rules")? {
        return Ok(());
    }
    let every = session.tier.choose(24, 24, 6);
    let rules = rules(&corpus.join("alive"), every)?;
    let mut command = session.program("kingpost")?;
    // Widths up to 8 judge every rule whose own types are no wider.
    command.args(["rules", "check", "--widths", "1..8", "--timeout", "5"]);
    let ended = session.end_of(command.args(rules.iter().map(|rule| &rule.file)))?;
    let verdicts: Vec<&str> = ended.text.lines().filter_map(verdict).collect();
    if verdicts.len() != rules.len() {
        bail!(failure(&ended));
    }
    let (mut kind, mut unknown, mut narrow, mut same) = (0, 0, 0, 0);
    for (rule, found) in rules.iter().zip(verdicts) {
        match (rule.verdict.as_str(), found) {
            // Its types are wider than 8 bits.
            (_, "error: type") => narrow += 1,
            (expected, found) if expected == found => same += 1,
            (_, found) if found.starts_with("unknown") => unknown += 1,
            (expected, found) if expected.starts_with("wrong") && found.starts_with("wrong") => kind += 1,
            (expected, found) => {
                let file = &rule.file;
                bail!("{file}: expected `{expected}`, got `{found}`\nrepeat: kingpost rules check --widths 1..8 {file}")
            }
        }
    }
    session.count("as expected", same);
    session.count("of another kind", kind);
    session.count("unknown", unknown);
    session.count("too wide", narrow);
    let few = |count: u64| 20 * count <= rules.len() as u64 || session.tier < Tier::Deep;
    ensure!(same > 0 && few(kind) && few(unknown), "more than one verdict in twenty is not the expected one");
    Ok(())
}

/// Reads the list of rules and verdicts, and returns one of `every` in the order of the list.
fn rules(folder: &Path, every: usize) -> Result<Vec<Rule>> {
    let path = folder.join("verdicts.tsv");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let rows = text.lines().enumerate().skip(1).filter(|(index, _)| (index + 1) % every == 0);
    let rules = rows.filter_map(|(_, line)| {
        let columns: Vec<&str> = line.split('\t').collect();
        let (verdict, kind, file) = (columns.get(5)?, columns.get(6)?, columns.get(17)?);
        let verdict = match *verdict {
            "unknown" => return None,
            "wrong" => format!("wrong: {kind}"),
            "rejected" => format!("error: {kind}"),
            other => other.to_string(),
        };
        Some(Rule { file: folder.join(file).display().to_string(), verdict })
    });
    Ok(rules.collect())
}

/// Returns the verdict in a line of a report, `RULE: VERDICT`.
fn verdict(line: &str) -> Option<&str> {
    let is_verdict = |text: &&str| {
        *text == "correct" || ["wrong: ", "unknown: ", "error: "].iter().any(|word| text.starts_with(word))
    };
    let starts = line.match_indices(": ").map(|(at, _)| &line[at + 2..]);
    if line.starts_with(' ') { None } else { starts.into_iter().find(is_verdict) }
}
