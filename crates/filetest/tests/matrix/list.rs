//! The list as text: under each reason, a line for an opcode, its variants, the places that reject it, and its
//! types.
//!
//! ```text
//! # There is no such thing as a bswap of bytes.
//! fcmp one ueq | x86_64 aarch64 | f32x4 f64x2
//! ```
//!
//! A line without variants is for all of them. A type without its source, `f32` for `f32<-i64`, represents all
//! sources.

use super::places;
use kingpost_testgen::opcode_cases::Case;
use std::collections::{BTreeMap, BTreeSet};

/// The reason of entries that have none yet.
pub(crate) const UNEXPLAINED: &str = "Not explained yet: move each line under a reason.";

/// Rejected cases by reason, in the order of the text, as indices of case and place. The head of the text is the
/// first group, and has no lines.
#[derive(Default)]
pub(crate) struct List(Vec<(String, BTreeSet<(usize, usize)>)>);

impl List {
    /// Adds a case with a set of places under a reason.
    pub(crate) fn add(&mut self, reason: &str, case: usize, places: usize) {
        let group = match self.0.iter().position(|(known, _)| known == reason) {
            Some(group) => group,
            None => {
                self.0.push((reason.into(), BTreeSet::new()));
                self.0.len() - 1
            }
        };
        let places = (0..places::NAMES.len()).filter(|place| places >> place & 1 != 0);
        self.0[group].1.extend(places.map(|place| (case, place)));
    }

    /// Reads the text.
    pub(crate) fn parse(text: &str, cases: &[Case]) -> Result<List, String> {
        let mut list = List::default();
        let (mut reason, mut is_heading) = (String::new(), false);
        for (number, line) in text.lines().enumerate() {
            if let Some(words) = line.strip_prefix('#') {
                if is_heading {
                    reason.push('\n');
                } else {
                    reason.clear();
                }
                reason.push_str(words.trim_start());
                is_heading = true;
                continue;
            }
            if is_heading {
                list.add(&reason, 0, 0);
                is_heading = false;
            }
            if !line.trim().is_empty() {
                list.parse_line(&reason, line, cases).map_err(|what| format!("line {}: {what}", number + 1))?;
            }
        }
        if is_heading {
            list.add(&reason, 0, 0);
        }
        Ok(list)
    }

    fn parse_line(&mut self, reason: &str, line: &str, cases: &[Case]) -> Result<(), String> {
        let [what, places, types] = line.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
            return Err("expected `OPCODE VARIANTS | PLACES | TYPES`".into());
        };
        let (opcode, variants) = what.split_once(' ').unwrap_or((what, ""));
        let variants: Vec<&str> = variants.split_whitespace().collect();
        let mut set = 0;
        for place in places.split_whitespace() {
            set |= 1 << places::NAMES.iter().position(|name| *name == place).ok_or(format!("no place {place}"))?;
        }
        for name in types.split_whitespace() {
            let mut found = false;
            for (k, case) in cases.iter().enumerate() {
                let is_here = case.opcode.name() == opcode
                    && (variants.is_empty() || variants.contains(&variant_name(case)))
                    && (case.type_name() == name || case.wide_type_name() == name);
                if is_here {
                    self.add(reason, k, set);
                    found = true;
                }
            }
            if !found {
                return Err(format!("there is no {what} at {name}"));
            }
        }
        Ok(())
    }

    /// Returns the list updated to the current rejections, a set of places for each case.
    pub(crate) fn updated(&self, refused: &[usize]) -> List {
        let mut list = List::default();
        for (reason, _) in &self.0 {
            list.add(reason, 0, 0);
        }
        for (case, &places) in refused.iter().enumerate() {
            for place in (0..places::NAMES.len()).filter(|place| places >> place & 1 != 0) {
                let known = self.0.iter().find(|(_, entries)| entries.contains(&(case, place)));
                list.add(known.map_or(UNEXPLAINED, |(reason, _)| reason), case, 1 << place);
            }
        }
        list
    }

    /// Returns the entries of only one list, in words.
    pub(crate) fn differences(&self, other: &List, cases: &[Case]) -> Vec<String> {
        let entries = |list: &List| list.0.iter().flat_map(|(_, entries)| entries).copied().collect::<BTreeSet<_>>();
        let (listed, refused) = (entries(self), entries(other));
        let say = |word: &str, &(case, place): &(usize, usize)| {
            let case = &cases[case];
            format!("{word}: {} {} {} for {}", case.opcode, case.variant, case.type_name(), places::NAMES[place])
        };
        let newly = refused.difference(&listed).map(|entry| say("refused, but not listed", entry));
        let no_longer = listed.difference(&refused).map(|entry| say("listed, but not refused", entry));
        newly.chain(no_longer).collect()
    }

    /// Returns the text. Empty groups are left out, except for the head.
    pub(crate) fn text(&self, cases: &[Case]) -> String {
        let mut groups = Vec::new();
        for (index, (reason, entries)) in self.0.iter().enumerate() {
            if index > 0 && entries.is_empty() {
                continue;
            }
            let heading =
                reason.lines().map(|line| format!("# {line}").trim_end().to_string() + "\n").collect::<String>();
            groups.push(heading + &lines(entries, cases));
        }
        groups.join("\n")
    }
}

fn variant_name(case: &Case) -> &str {
    if case.variant.is_empty() { "-" } else { &case.variant }
}

/// Returns the lines of a group, by opcode; variants with equal rejections share one.
fn lines(entries: &BTreeSet<(usize, usize)>, cases: &[Case]) -> String {
    let mut masks: BTreeMap<usize, usize> = BTreeMap::new();
    for &(case, place) in entries {
        *masks.entry(case).or_default() |= 1 << place;
    }
    let mut text = String::new();
    // Cases of one opcode are adjacent.
    let mut rest = &masks.iter().map(|(&case, &places)| (case, places)).collect::<Vec<_>>()[..];
    while let Some(&(first, _)) = rest.first() {
        let opcode = cases[first].opcode;
        let count = rest.iter().take_while(|(case, _)| cases[*case].opcode == opcode).count();
        opcode_lines(&rest[..count], cases, &mut text);
        rest = &rest[count..];
    }
    text
}

fn opcode_lines(refused: &[(usize, usize)], cases: &[Case], text: &mut String) {
    let opcode = cases[refused[0].0].opcode;
    // Map from variant and places to the types.
    let mut by_places: Vec<((&str, usize), Vec<usize>)> = Vec::new();
    for &(case, places) in refused {
        let key = (variant_name(&cases[case]), places);
        match by_places.iter_mut().find(|(known, _)| *known == key) {
            Some((_, cases)) => cases.push(case),
            None => by_places.push((key, vec![case])),
        }
    }
    // Map from types and places to the variants.
    let mut lines: Vec<((String, usize), Vec<&str>)> = Vec::new();
    for ((variant, places), members) in by_places {
        let key = (type_names(variant, &members, cases), places);
        match lines.iter_mut().find(|(known, _)| *known == key) {
            Some((_, variants)) => variants.push(variant),
            None => lines.push((key, vec![variant])),
        }
    }
    let of_opcode = cases.iter().filter(|case| case.opcode == opcode);
    let all: BTreeSet<&str> = of_opcode.map(variant_name).collect();
    for ((types, places), variants) in lines {
        let variants = if variants.len() == all.len() { String::new() } else { format!(" {}", variants.join(" ")) };
        let places: Vec<&str> =
            (0..places::NAMES.len()).filter(|k| places >> k & 1 != 0).map(|k| places::NAMES[k]).collect();
        text.push_str(&format!("{opcode}{variants} | {} | {types}\n", places.join(" ")));
    }
}

/// Returns the types of cases of one opcode and variant, without their sources if all sources are among them.
fn type_names(variant: &str, members: &[usize], cases: &[Case]) -> String {
    let mut names: Vec<String> = Vec::new();
    for &member in members {
        let case = &cases[member];
        let all = cases
            .iter()
            .enumerate()
            .filter(|(_, other)| other.opcode == case.opcode && variant_name(other) == variant && other.ty == case.ty);
        let has_all = all.map(|(k, _)| k).all(|k| members.contains(&k));
        let name = if has_all { case.wide_type_name() } else { case.type_name() };
        if names.last() != Some(&name) {
            names.push(name);
        }
    }
    names.join(" ")
}
