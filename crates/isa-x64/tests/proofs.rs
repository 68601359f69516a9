//! Every code of the test of encodings is known to the decoder of proofs: as one instruction of the right length, with
//! the registers, the address and the immediate of the text.

use crate::gnu_as::{ASSEMBLER, FILLER, STRIDE, all_cases};
use kingpost_machine_semantics::x64::{self, Base, Instruction, Memory, Operand};
use std::collections::BTreeSet;

/// Names of the first eight registers without the letter of their size.
const NAMES: [&str; 8] = ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di"];

/// A register: whether it is a vector register, and its number.
type Register = (bool, u8);

/// Returns the register of a name.
fn register(name: &str) -> Option<Register> {
    if let Some(number) = name.strip_prefix("xmm") {
        return Some((true, number.parse().ok()?));
    }
    if let Some(number) = name.strip_prefix('r').map(|rest| rest.trim_end_matches(['b', 'w', 'd']))
        && let Ok(number) = number.parse()
    {
        return Some((false, number));
    }
    // `al` and `ah` name `ax`; `sil` names `si`.
    let name = name.trim_start_matches(['r', 'e']);
    let number = NAMES.iter().position(|known| match name.strip_suffix(['l', 'h']) {
        Some(stem) if stem.len() == 1 => known.starts_with(stem) && known.ends_with('x'),
        Some(stem) => *known == stem,
        None => *known == name,
    });
    number.map(|number| (false, number as u8))
}

fn registers_of_text(text: &str) -> BTreeSet<Register> {
    // The mnemonic, which could be mistaken for a register, comes first.
    let operands = text.split_once(' ').map_or("", |(_, operands)| operands);
    operands.split(|c: char| !c.is_ascii_alphanumeric()).filter_map(register).collect()
}

fn registers_of_instruction(instruction: &Instruction) -> BTreeSet<Register> {
    let mut registers = BTreeSet::new();
    for operand in instruction.operands {
        match operand {
            Operand::Register(number) | Operand::HighByte(number) => registers.insert((false, number)),
            Operand::Vector(number) => registers.insert((true, number)),
            Operand::Memory(Memory { base, index, .. }) => {
                if let Base::Register(number) = base {
                    registers.insert((false, number));
                }
                index.is_some_and(|number| registers.insert((false, number)))
            }
            _ => false,
        };
    }
    registers
}

/// Returns the factor and the displacement of the address in a text without symbols.
fn address_of_text(text: &str) -> Option<(i64, i64)> {
    let (_, rest) = text.split_once('[')?;
    let (address, _) = rest.split_once(']')?;
    let factor = address.split_once('*').map_or("1", |(_, rest)| rest.split(' ').next().unwrap_or_default());
    let mut displacement = 0;
    let words: Vec<&str> = address.split(' ').collect();
    for pair in words.windows(2) {
        if let Ok(number) = pair[1].parse::<i64>() {
            displacement = if pair[0] == "-" { -number } else { number };
        }
    }
    (!address.contains("rip")).then(|| (factor.parse().unwrap_or_default(), displacement))
}

/// Returns what a decoded instruction has different from its text.
fn difference(text: &str, instruction: &Instruction) -> Option<String> {
    let (ours, theirs) = (registers_of_instruction(instruction), registers_of_text(text));
    if ours != theirs {
        return Some(format!("registers {ours:?} for {theirs:?}"));
    }
    for operand in instruction.operands {
        let (ours, theirs) = match operand {
            Operand::Memory(memory) => match address_of_text(text) {
                Some(address) => ((1 << memory.scale, i64::from(memory.displacement)), address),
                None => continue,
            },
            Operand::Immediate(immediate) => {
                let number = text.rsplit([' ', ',']).next().unwrap_or_default();
                // A relocation covers the immediate of `offset`.
                let Some(number) = number.parse::<i64>().ok().filter(|_| !text.contains("offset")) else { continue };
                let unused = 64 - if instruction.size > 64 { 8 } else { u32::from(instruction.size) };
                ((0, immediate << unused >> unused), (0, number << unused >> unused))
            }
            _ => continue,
        };
        if ours != theirs {
            return Some(format!("{ours:?} for {theirs:?}"));
        }
    }
    None
}

/// Returns the reason why bytes are not what the decoder of proofs makes of them.
fn refusal(text: &str, bytes: &[u8]) -> Option<String> {
    let (instruction, length) = match x64::decode(bytes) {
        Ok(decoded) => decoded,
        Err(error) => return Some(error.to_string()),
    };
    let mut rest = &bytes[length..];
    if text.contains("tlsgd") {
        // The address of a thread-local symbol is the sequence of two instructions.
        rest = &rest[x64::decode(rest).map_or(0, |(_, length)| length)..];
    } else if let Some(difference) = difference(text, &instruction) {
        return Some(format!("{difference}: {instruction:?}"));
    }
    rest.iter().any(|&byte| byte != FILLER).then(|| format!("{length} bytes"))
}

/// Returns `true` if the manual reserves the immediate of a text, or the control register gives its meaning: a predicate
/// of a comparison of floats, or the mode of a rounding.
fn is_reserved(text: &str) -> bool {
    let mnemonic = text.split(' ').next().unwrap_or_default();
    let Some(Ok(immediate)) = text.rsplit(' ').next().map(str::parse::<i64>) else { return false };
    let (is_vex, name) = mnemonic.strip_prefix('v').map_or((false, mnemonic), |name| (true, name));
    match name {
        "cmpss" | "cmpsd" | "cmpps" | "cmppd" => !(0..if is_vex { 32 } else { 8 }).contains(&immediate),
        "roundss" | "roundsd" | "roundps" | "roundpd" => !(0..16).contains(&immediate) || immediate & 4 != 0,
        _ => false,
    }
}

#[test]
fn rows_are_known_to_proofs() {
    let mut cases = all_cases();
    let (bytes, _) = ASSEMBLER.ours(&mut cases.buffer);
    let mut unknown = Vec::new();
    for (start, text) in &cases.texts {
        let refusal = refusal(text, &bytes[*start..start + STRIDE]);
        if refusal.is_some() != is_reserved(text) {
            unknown.push(format!("`{text}`: {refusal:?}"));
        }
    }
    let count = unknown.len();
    unknown.truncate(20);
    assert!(count == 0, "{count} of {} texts are not as expected:\n{}", cases.texts.len(), unknown.join("\n"));
    println!("{} texts decode", cases.texts.len());
}
