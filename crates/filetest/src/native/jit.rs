//! Runs calls in executable memory, in copies of this process.

use std::thread;

use kingpost_codegen::module::default_libcall_name;
use kingpost_isolate::{self as isolate, IsolatedCall, SharedMemory};
use kingpost_jit::{Image, library_address};
use kingpost_mach::SymbolName;
use target_lexicon::Triple;

use crate::native::build::Program;
use crate::native::call::{Fault, Request, clobbered, died, late, not_run};
use crate::native::stub::{CONTROL, Stub};
use crate::native::throw::{self, Throw};
use crate::native::trampoline::SLOT_BYTES;
use crate::outcome::Ending;

/// Stack of the calls, which is as large as the usual stack of a program.
const STACK_BYTES: usize = 8 << 20;

/// Runs all requests in order; each has an ending.
///
/// # Errors
/// If the program cannot be loaded, or no process can be started.
pub(crate) fn run(program: &Program, requests: &[Request], seconds: u32) -> Result<Vec<Ending>, String> {
    let architecture = program.triple.architecture;
    let stub = Stub::of(architecture).ok_or_else(|| format!("there is no stub for {architecture}"))?;
    let head = stub.record_head;
    let mut throw = Throw::new(&program.module, architecture)?;
    let mut resolve = |name: &SymbolName| match name {
        SymbolName::Named(word) if **word == *throw::NAME => throw.address(),
        _ => library(name, &program.triple),
    };
    let image = Image::load(&program.module, &program.data, &mut resolve).map_err(|error| error.to_string())?;
    throw.fill(&image);
    let sizes = requests.iter().map(|request| head + request.count() * SLOT_BYTES);
    let size = CONTROL + sizes.clone().sum::<usize>();
    let mut shared = SharedMemory::new(size).map_err(|error| error.to_string())?;
    let name = SymbolName::named("stub");
    let stub_image = Image::load(&stub.module(&name, shared.address())?, &[], &mut |_| None);
    let stub_image = stub_image.map_err(|error| error.to_string())?;
    let entry = stub_image.address(&name).ok_or("there is no stub")?;
    let functions: Vec<&SymbolName> = program.module.functions().map(|view| &view.function.head.name).collect();

    let (mut calls, mut records, mut end) = (Vec::new(), Vec::new(), CONTROL);
    for (request, size) in requests.iter().zip(sizes) {
        let record = end..end + size;
        end = record.end;
        let address = image.address(functions[request.trampoline as usize]).ok_or("there is no trampoline")?;
        let (bytes, slots) = (&mut shared.bytes_mut()[record.clone()], request.slots());
        bytes[..8].copy_from_slice(&(address as u64).to_le_bytes());
        bytes[head..head + slots.len()].copy_from_slice(&slots);
        calls.push(IsolatedCall { function: entry, argument: shared.address() + record.start });
        records.push(record);
    }
    let endings = isolated(&[&image, &stub_image, throw.image()], &calls, &mut shared, seconds)?;
    let ended = requests.iter().zip(endings).zip(records);
    Ok(ended
        .map(|((request, ending), record)| ended_as(stub, request, ending, &image, &shared.bytes()[record]))
        .collect())
}

/// Makes the calls on a stack of known size.
fn isolated(
    images: &[&Image],
    calls: &[IsolatedCall],
    shared: &mut SharedMemory,
    seconds: u32,
) -> Result<Vec<isolate::Ending>, String> {
    thread::scope(|scope| {
        let calls = || isolate::run(images, calls, &mut [shared], seconds);
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, calls);
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        let endings = thread.join().map_err(|_| "bug: the calls panicked")?;
        endings.map_err(|error| error.to_string())
    })
}

fn ended_as(stub: Stub, request: &Request, ending: isolate::Ending, image: &Image, record: &[u8]) -> Ending {
    match ending {
        isolate::Ending::Returned => match stub.not_preserved(record) {
            None => request.returned(&record[stub.record_head..]).unwrap_or_else(died),
            Some(register) => clobbered(stub.architecture, register),
        },
        isolate::Ending::Fault { signal, pc, address, sp } => {
            let fault = Fault {
                signal,
                pc: pc as u64,
                address: address as u64,
                sp: sp as u64,
                architecture: stub.architecture,
            };
            fault.ending(|pc| image.trap_at(pc as usize))
        }
        isolate::Ending::Late => late(),
        isolate::Ending::NotRun => not_run(),
        isolate::Ending::Died { .. } => died(),
    }
}

/// Returns the address of a symbol that the program itself does not define.
fn library(name: &SymbolName, triple: &Triple) -> Option<usize> {
    match name {
        SymbolName::Named(word) => library_address(word),
        SymbolName::LibCall(libcall) => library_address(default_libcall_name(*libcall, triple)),
        SymbolName::User(..) | SymbolName::KnownSymbol(_) | SymbolName::Literal(_) => None,
    }
}
