//! Execution of instructions by the processor: a program of `machine.c`, `machine.s` and the forms.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::process::Command;
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
        let words = self.general.iter().chain([&self.rflags]).chain(self.vector.iter().flatten());
        words.for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(self.memory);
        bytes.extend(self.exit.to_le_bytes());
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

/// A program that executes forms.
pub(crate) struct Processor {
    dir: TempDir,
    forms: Vec<Code>,
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
        Some(Processor { dir, forms })
    }

    pub(crate) fn forms(&self) -> &[Code] {
        &self.forms
    }

    /// Executes forms, given by their numbers in ascending order, in some states each.
    pub(crate) fn run<'a>(&self, batches: impl Iterator<Item = (usize, &'a Vec<Snapshot>)>) -> Vec<Vec<Snapshot>> {
        let mut batches = batches.peekable();
        let (mut input, mut counts) = (Vec::new(), Vec::new());
        for number in 0..self.forms.len() {
            let states = batches.next_if(|(next, _)| *next == number).map(|(_, states)| states);
            let count = states.map_or(0, Vec::len);
            input.extend((count as u64).to_le_bytes());
            states.into_iter().flatten().for_each(|state| state.put(&mut input));
            counts.extend(states.map(Vec::len));
        }
        let at = |name: &str| self.dir.path().join(name);
        std::fs::write(at("before"), input).unwrap();
        let output = Command::new(at("machine"))
            .arg("run")
            .stdin(File::open(at("before")).unwrap())
            .stdout(File::create(at("after")).unwrap())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
        let mut bytes = Vec::new();
        File::open(at("after")).unwrap().read_to_end(&mut bytes).unwrap();
        let mut states = bytes.chunks_exact(SNAPSHOT_SIZE).map(Snapshot::get);
        counts.into_iter().map(|count| states.by_ref().take(count).collect()).collect()
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
