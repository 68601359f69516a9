//! Runs calls via an object that is linked with the driver, in a child process. The driver survives calls that
//! fault. If it dies nevertheless, it is started again, each time with a second less of CPU time.

use std::fs::{self, File};
use std::process::Stdio;

use kingpost_ir::TrapCode;

use crate::native::build::Program;
use crate::native::call::{Fault, Request, clobbered, died, late, not_run};
use crate::native::link::{Executable, link};
use crate::native::trampoline::SLOT_BYTES;
use crate::outcome::Ending;

/// The driver's tag for a register that was not preserved, plus its number from 1.
const CLOBBERED: u64 = 1000;
const SIGPROF: u64 = 27;

fn encode(request: &Request) -> Vec<u8> {
    let counts = [request.arguments.len() as u32, request.results.len() as u32];
    let words = [request.trampoline, counts[0], counts[1]];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(request.slots());
    bytes
}

/// Runs all requests in order; each has an ending.
///
/// # Errors
/// If the program cannot be linked or started, or its output is malformed.
pub(crate) fn run(program: &Program, requests: &[Request], seconds: u32) -> Result<Vec<Ending>, String> {
    let executable = link(program)?;
    let path = executable.folder.path().join("requests");
    let encoded: Vec<Vec<u8>> = requests.iter().map(encode).collect();
    let mut endings = Vec::with_capacity(requests.len());
    for seconds in (1..=u64::from(seconds)).rev() {
        let first = endings.len();
        if first == requests.len() || endings.last() == Some(&late()) {
            break;
        }
        let input = [&seconds.to_le_bytes()[..], &encoded[first..].concat()].concat();
        fs::write(&path, input).map_err(|error| error.to_string())?;
        let input = File::open(&path).map_err(|error| error.to_string())?;
        let output = start_child(&executable, input)?;
        Answers { program, bytes: &output, table: Vec::new() }.read(&requests[first..], &mut endings)?;
    }
    endings.resize_with(requests.len(), not_run);
    Ok(endings)
}

fn start_child(executable: &Executable, input: File) -> Result<Vec<u8>, String> {
    // A file, because servers that an emulator starts keep a pipe open for seconds after the program ended.
    let path = executable.folder.path().join("answers");
    let output = File::create(&path).map_err(|error| error.to_string())?;
    let mut command = executable.tools.command(&executable.path);
    command.stdin(input).stdout(output).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("cannot start the program: {error}"))?;
    child.wait().map_err(|error| error.to_string())?;
    fs::read(&path).map_err(|error| error.to_string())
}

/// The output of a child process.
struct Answers<'a> {
    program: &'a Program,
    bytes: &'a [u8],
    /// Addresses of the functions.
    table: Vec<u64>,
}

impl Answers<'_> {
    /// Appends the endings up to the call that killed the process; at least one.
    fn read(&mut self, requests: &[Request], endings: &mut Vec<Ending>) -> Result<(), String> {
        for _ in 0..self.program.module.len() {
            let address = self.word().ok_or("the program ended before its first call")?;
            self.table.push(address);
        }
        for request in requests {
            let Some(tag) = self.word() else {
                endings.push(died());
                return Ok(());
            };
            match tag {
                0 => endings.push(self.results(request).unwrap_or_else(died)),
                _ if tag > CLOBBERED => {
                    endings.push(clobbered(self.program.triple.architecture, (tag - CLOBBERED - 1) as usize));
                }
                // The child is then out of time.
                SIGPROF => {
                    endings.push(late());
                    return Ok(());
                }
                _ => endings.push(self.fault(tag).unwrap_or_else(died)),
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

    fn results(&mut self, request: &Request) -> Option<Ending> {
        request.returned(self.take(request.results.len() * SLOT_BYTES)?)
    }

    fn fault(&mut self, signal: u64) -> Option<Ending> {
        let (pc, address, sp) = (self.word()?, self.word()?, self.word()?);
        let architecture = self.program.triple.architecture;
        let fault = Fault { signal: i32::try_from(signal).ok()?, pc, address, sp, architecture };
        Some(fault.ending(|pc| self.trap_code(pc)))
    }

    /// Returns the code in the trap table of the function that contains an address.
    fn trap_code(&self, pc: u64) -> Option<TrapCode> {
        self.table.iter().zip(self.program.module.functions()).find_map(|(start, view)| {
            let offset = u32::try_from(pc.checked_sub(*start)?).ok()?;
            let index = view.traps.binary_search_by_key(&offset, |trap| trap.offset).ok()?;
            Some(view.traps[index].code)
        })
    }
}
