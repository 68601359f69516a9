//! Runs calls in a child process, which is started again after each call that does not return.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::process::{Command, Stdio};

use kingpost_interpreter::DataValue;
use kingpost_ir::{TrapCode, Type};

use crate::directives::Ending;
use crate::native::build::{Executable, Program};
use crate::native::trampoline::SLOT_BYTES;

/// The driver takes so many values in one call.
const MAX_SLOTS: usize = 4096;
/// What stands above arguments narrower than their slot.
const GARBAGE: u8 = 0xa5;
/// The driver's tag for a register that was not preserved, plus its number.
const CLOBBERED: u64 = 1000;
const PRESERVED: [&str; 7] = ["rsp", "rbx", "rbp", "r12", "r13", "r14", "r15"];
const SIGTRAP: u64 = 5;
const SIGSEGV: u64 = 11;
const SIGALRM: u64 = 14;
/// A fault this close to the stack pointer means that the stack is exhausted, bytes.
const STACK_REACH: u64 = 1 << 16;

/// A call of a function through its trampoline.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Place of the trampoline in the table.
    pub(crate) trampoline: u32,
    pub(crate) arguments: Vec<DataValue>,
    /// The types of the results.
    pub(crate) results: Vec<Type>,
}

impl Request {
    fn encode(&self) -> Vec<u8> {
        let words = [self.trampoline, self.arguments.len() as u32, self.results.len() as u32, 0];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        for argument in &self.arguments {
            let mut slot = [GARBAGE; SLOT_BYTES];
            let size = argument.ty().bytes() as usize;
            slot[..size].copy_from_slice(&argument.bits().to_le_bytes()[..size]);
            bytes.extend_from_slice(&slot);
        }
        bytes
    }
}

/// Runs all requests in order; each has an ending.
///
/// # Errors
/// If the program cannot be linked or started, or says something that cannot be.
pub(crate) fn run(program: &Program, requests: &[Request]) -> Result<Vec<Ending>, String> {
    let too_many = |request: &Request| request.arguments.len().max(request.results.len()) > MAX_SLOTS;
    if requests.iter().any(too_many) {
        return Err(format!("a directive has more than {MAX_SLOTS} arguments or results"));
    }
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    let executable = program.link()?;
    let path = executable.folder.path().join("requests");
    let encoded: Vec<Vec<u8>> = requests.iter().map(Request::encode).collect();
    fs::write(&path, encoded.concat()).map_err(|error| error.to_string())?;
    let mut endings = Vec::with_capacity(requests.len());
    let mut start = 0;
    while endings.len() < requests.len() {
        let first = endings.len();
        let mut input = File::open(&path).map_err(|error| error.to_string())?;
        input.seek(SeekFrom::Start(start)).map_err(|error| error.to_string())?;
        let output = start_child(&executable, input)?;
        Answers { program, bytes: &output, table: Vec::new() }.read(&requests[first..], &mut endings)?;
        start += encoded[first..endings.len()].iter().map(|bytes| bytes.len() as u64).sum::<u64>();
    }
    Ok(endings)
}

fn start_child(executable: &Executable, input: File) -> Result<Vec<u8>, String> {
    let mut command = Command::new(&executable.path);
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::null()).env_clear();
    let mut child = command.spawn().map_err(|error| format!("cannot start the program: {error}"))?;
    let mut output = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_end(&mut output).map_err(|error| error.to_string())?;
    }
    child.wait().map_err(|error| error.to_string())?;
    Ok(output)
}

/// What a child wrote.
struct Answers<'a> {
    program: &'a Program,
    bytes: &'a [u8],
    /// Addresses of the functions.
    table: Vec<u64>,
}

impl Answers<'_> {
    /// Appends the endings up to the first call that did not return; at least one.
    fn read(&mut self, requests: &[Request], endings: &mut Vec<Ending>) -> Result<(), String> {
        let died = || Ending::Wrong("killed the process".into());
        for _ in 0..self.program.entries.len() {
            let address = self.word().ok_or("the program ended before its first call")?;
            self.table.push(address);
        }
        for request in requests {
            let Some(tag) = self.word() else {
                endings.push(died());
                return Ok(());
            };
            match tag {
                0 => endings.push(self.results(&request.results).unwrap_or_else(died)),
                _ if tag > CLOBBERED => {
                    let register = PRESERVED.get((tag - CLOBBERED - 1) as usize).copied().unwrap_or("a register");
                    endings.push(Ending::Wrong(format!("did not preserve {register}")));
                }
                _ => {
                    endings.push(self.fault(tag).unwrap_or_else(died));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, size: usize) -> Option<&[u8]> {
        let (front, rest) = self.bytes.split_at_checked(size)?;
        self.bytes = rest;
        Some(front)
    }

    fn word(&mut self) -> Option<u64> {
        let bytes = self.take(8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    fn results(&mut self, types: &[Type]) -> Option<Ending> {
        let mut values = Vec::with_capacity(types.len());
        for &ty in types {
            let slot = self.take(SLOT_BYTES)?;
            values.push(DataValue::new(ty, u128::from_le_bytes(slot.try_into().ok()?)));
        }
        Some(Ending::Returned(values))
    }

    fn fault(&mut self, signal: u64) -> Option<Ending> {
        let (pc, address, sp) = (self.word()?, self.word()?, self.word()?);
        if signal == SIGALRM {
            return Some(Ending::Wrong("did not return in time".into()));
        }
        // The processor reports a breakpoint behind it.
        let pc = if signal == SIGTRAP { pc.saturating_sub(1) } else { pc };
        let mut code = self.trap_code(pc);
        if code.is_none() && signal == SIGSEGV && address.abs_diff(sp) < STACK_REACH {
            code = Some(TrapCode::STACK_OVERFLOW);
        }
        Some(Ending::Trapped(code))
    }

    /// The code in the trap table of the function that holds an address.
    fn trap_code(&self, pc: u64) -> Option<TrapCode> {
        let mut entries = self.table.iter().zip(&self.program.entries);
        let (start, entry) =
            entries.find(|(start, entry)| pc.checked_sub(**start).is_some_and(|offset| offset < entry.code_size))?;
        let offset = u32::try_from(pc - start).ok()?;
        let index = entry.traps.binary_search_by_key(&offset, |&(offset, _)| offset).ok()?;
        Some(entry.traps[index].1)
    }
}
