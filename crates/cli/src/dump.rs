//! `--dump` and `--disasm`: texts of stages, written to standard output or to numbered files of a folder.

use crate::diagnostics::note_renamed;
use crate::exit_status::Stop;
use crate::output;
use kingpost_codegen::{DumpReceiver, Stage};
use kingpost_regalloc::MachineEnv;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Returns the stage with this current or former name. Writes a note if the name is a former one.
pub(crate) fn stage(name: &str) -> Option<Stage> {
    Stage::named(name).inspect(|stage| note_renamed("stage", name, stage.name()))
}

/// Collects texts from all threads. They are written later, in the order of the functions.
#[derive(Default)]
struct DumpWriter {
    /// The stages to dump, indexed like [`Stage::ALL`].
    wanted: [bool; Stage::ALL.len()],
    /// Texts by name of the function.
    texts: Mutex<HashMap<String, Vec<(Stage, String)>>>,
}

impl DumpReceiver for DumpWriter {
    fn takes(&self, stage: Stage, _name: &str) -> bool {
        self.wanted[stage as usize]
    }

    fn take(&self, stage: Stage, name: &str, text: String) {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.entry(name.to_string()).or_default().push((stage, text));
    }
}

/// The texts of some stages, and their destination.
pub(crate) struct Dumps {
    writer: Arc<DumpWriter>,
    /// The destination folder; standard output if `None`.
    folder: Option<PathBuf>,
    files: BTreeMap<&'static str, BufWriter<File>>,
    /// The machine of the allocation problems written so far.
    env: Option<MachineEnv>,
}

impl Dumps {
    /// Creates dumps of the stages with these names, or of `all`. Creates the folder if it does not exist.
    pub(crate) fn new(names: &[String], folder: Option<&Path>) -> Result<Dumps, Stop> {
        let named: Vec<Stage> = names.iter().filter_map(|name| stage(name)).collect();
        let is_named = |stage: &Stage| names.iter().any(|name| name == "all") || named.contains(stage);
        let mut wanted = [false; Stage::ALL.len()];
        Stage::ALL.iter().filter(|stage| is_named(stage)).for_each(|&stage| wanted[stage as usize] = true);
        if let Some(folder) = folder {
            let failed = |error| Stop::Failure(format!("{}: {error}", folder.display()));
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let writer = Arc::new(DumpWriter { wanted, texts: Mutex::default() });
        Ok(Dumps { writer, folder: folder.map(Path::to_path_buf), files: BTreeMap::new(), env: None })
    }

    /// Returns the writer that collects the texts, if there is a stage to dump.
    pub(crate) fn writer(&self) -> Option<Arc<dyn DumpReceiver>> {
        self.writer.wanted.contains(&true).then(|| Arc::clone(&self.writer) as Arc<dyn DumpReceiver>)
    }

    /// Writes the collected texts of the functions `names`, which were compiled for the machine `env`.
    pub(crate) fn write(&mut self, names: impl Iterator<Item = String>, env: &MachineEnv) -> Result<(), Stop> {
        let mut texts = std::mem::take(&mut *self.writer.texts.lock().unwrap_or_else(PoisonError::into_inner));
        let mut out = output::stdout();
        for name in names {
            for (stage, text) in texts.remove(&name).unwrap_or_default() {
                // A text of allocation problems describes their machine once.
                let is_new_env = stage == Stage::Regalloc && self.env.as_ref() != Some(env);
                if is_new_env {
                    self.env = Some(env.clone());
                }
                let env = if is_new_env { format!("{env}\n") } else { String::new() };
                match self.file(stage)? {
                    Some(file) => writeln!(file, "{env}; {name}\n{text}")?,
                    None => writeln!(out, "; {} {name}\n{env}{text}", numbered(stage))?,
                }
            }
        }
        Ok(out.flush()?)
    }

    /// Returns the file of a stage, if texts are written to a folder. Creates the file on first use.
    fn file(&mut self, stage: Stage) -> Result<Option<&mut BufWriter<File>>, Stop> {
        let Some(folder) = &self.folder else { return Ok(None) };
        if !self.files.contains_key(stage.name()) {
            let path = folder.join(format!("{}.{}", numbered(stage), stage.extension()));
            let file = File::create(&path).map_err(|error| Stop::Failure(format!("{}: {error}", path.display())))?;
            self.files.insert(stage.name(), BufWriter::new(file));
        }
        Ok(self.files.get_mut(stage.name()))
    }

    /// Flushes the files.
    pub(crate) fn finish(&mut self) -> Result<(), Stop> {
        let folder = self.folder.as_deref().unwrap_or(Path::new("-"));
        let failed = |error| Stop::Failure(format!("{}: {error}", folder.display()));
        self.files.values_mut().try_for_each(BufWriter::flush).map_err(failed)
    }
}

/// Returns the stage's name with its position in the pipeline as a prefix.
fn numbered(stage: Stage) -> String {
    format!("{:02}-{stage}", stage as usize)
}
