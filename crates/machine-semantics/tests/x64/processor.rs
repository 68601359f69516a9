//! Execution of instructions by the processor: a program of `machine.c`, `machine.s` and the forms.

use std::fmt::Write;
use std::io::{Read, Write as _};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Bytes of memory that instructions may change, and their address.
pub(crate) const MEMORY_SIZE: usize = 64;
pub(crate) const MEMORY: u64 = 0x1000_0800;

/// State of the processor: `struct state` of `machine.c`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) general: [u64; 16],
    pub(crate) rflags: u64,
    pub(crate) vector: [[u64; 2]; 16],
    pub(crate) memory: [u8; MEMORY_SIZE],
    pub(crate) exit: u64,
}

/// Bytes of `struct state`.
const SNAPSHOT_SIZE: usize = 16 * 8 + 8 + 16 * 16 + MEMORY_SIZE + 8;

impl Snapshot {
    fn put(&self, bytes: &mut Vec<u8>) {
        let mut all = [0; SNAPSHOT_SIZE];
        let words = self.general.iter().chain([&self.rflags]).chain(self.vector.as_flattened());
        let (chunks, _) = all.as_chunks_mut();
        chunks.iter_mut().zip(words).for_each(|(chunk, word)| *chunk = word.to_le_bytes());
        all[SNAPSHOT_SIZE - MEMORY_SIZE - 8..SNAPSHOT_SIZE - 8].copy_from_slice(&self.memory);
        all[SNAPSHOT_SIZE - 8..].copy_from_slice(&self.exit.to_le_bytes());
        bytes.extend_from_slice(&all);
    }

    fn get(bytes: &[u8]) -> Snapshot {
        let word = |index: usize| u64::from_le_bytes(bytes[8 * index..8 * index + 8].try_into().unwrap());
        Snapshot {
            general: std::array::from_fn(word),
            rflags: word(16),
            vector: std::array::from_fn(|register| [0, 1].map(|half| word(17 + 2 * register + half))),
            memory: bytes[SNAPSHOT_SIZE - MEMORY_SIZE - 8..SNAPSHOT_SIZE - 8].try_into().unwrap(),
            exit: word(SNAPSHOT_SIZE / 8 - 1),
        }
    }
}

/// The code of a form.
#[derive(Clone)]
pub(crate) struct Code {
    /// Number among the forms of the program.
    pub(crate) number: usize,
    pub(crate) address: u64,
    pub(crate) bytes: Vec<u8>,
    /// Address that a taken branch reaches.
    pub(crate) taken: u64,
}

/// States in one batch of the program.
const BATCH: usize = 500;

/// A program that executes forms.
pub(crate) struct Processor {
    child: Child,
    forms: Vec<Code>,
    /// Folder of the program.
    _dir: TempDir,
}

impl Processor {
    /// Returns a program of forms; `None`, with a message, if there is no compiler.
    pub(crate) fn assemble(texts: &[String]) -> Option<Processor> {
        if Command::new("gcc").arg("--version").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "CI has gcc");
            eprintln!("SKIPPED: meanings of x86-64 need gcc");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let mut source = include_str!("machine.s").to_string();
        for text in texts {
            write!(
                source,
                ".text\n9: {text}\n8: jmp machine_done\n7: jmp machine_taken\n\
                 .section .data.forms, \"aw\"\n.quad 9b, 8b, 7b\n"
            )
            .unwrap();
        }
        write!(source, ".globl form_count\nform_count: .quad {}\n", texts.len()).unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("forms.s"), source).unwrap();
        std::fs::write(at("machine.c"), include_str!("machine.c")).unwrap();
        let options = ["-O1", "-Wall", "-Werror", "-static", "-no-pie", "-o"];
        let output = Command::new("gcc")
            .args(options)
            .args(
                ["machine", "machine.c", "forms.s", "-Wl,-z,noexecstack", "-Wl,--defsym=memory=0x10000800"]
                    .map(at_if_file(&dir)),
            )
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let output = Command::new(at("machine")).arg("info").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).unwrap();
        let forms: Vec<Code> = lines.lines().enumerate().map(|(number, line)| code(number, line)).collect();
        assert_eq!(forms.len(), texts.len());
        let child = Command::new(at("machine")).arg("run").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        Some(Processor { child: child.unwrap(), forms, _dir: dir })
    }

    pub(crate) fn forms(&self) -> &[Code] {
        &self.forms
    }

    /// Executes a form in some states.
    pub(crate) fn run(&mut self, form: &Code, states: &[Snapshot]) -> Vec<Snapshot> {
        states.chunks(BATCH).flat_map(|states| self.run_batch(form, states)).collect()
    }

    fn run_batch(&mut self, form: &Code, states: &[Snapshot]) -> Vec<Snapshot> {
        let mut bytes = Vec::with_capacity(16 + states.len() * SNAPSHOT_SIZE);
        [form.number, states.len()].iter().for_each(|&word| bytes.extend((word as u64).to_le_bytes()));
        states.iter().for_each(|state| state.put(&mut bytes));
        self.child.stdin.as_mut().unwrap().write_all(&bytes).unwrap();
        bytes.resize(states.len() * SNAPSHOT_SIZE, 0);
        self.child.stdout.as_mut().unwrap().read_exact(&mut bytes).unwrap();
        bytes.chunks_exact(SNAPSHOT_SIZE).map(Snapshot::get).collect()
    }

    /// Ends the program.
    pub(crate) fn stop(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// Returns a function that makes file names absolute, and leaves options alone.
fn at_if_file(dir: &TempDir) -> impl Fn(&str) -> std::path::PathBuf {
    |name| if name.starts_with('-') { name.into() } else { dir.path().join(name) }
}

/// Reads a line of `machine info`.
fn code(number: usize, line: &str) -> Code {
    let fields: Vec<&str> = line.split(' ').collect();
    let [address, length, taken] = [0, 1, 2].map(|index| fields[index].parse::<u64>().unwrap());
    let byte = |index| u8::from_str_radix(&fields[3][2 * index..2 * index + 2], 16).unwrap();
    Code { number, address, bytes: (0..length as usize).map(byte).collect(), taken }
}
