//! A compile service on a Unix socket: `cargo run --release --example compile_service SOCKET`.
//!
//! A request is the length of a text as four bytes, little-endian, and CLIF functions as text. The answer is the byte 0
//! and an object file, or the byte 1 and a message, each with its length before it. A connection may have many requests.
//!
//! Clients are not trusted, so everything is bounded: the length of a text; the instructions, the code, the work and the
//! memory of a function; the time of a request; the connections that are served at once. Each result of the register
//! allocator is checked. A mistake of the compiler ends one request.

use kingpost::codegen::{Compiler, Limits, Options, Settings};
use kingpost::compiled::ModuleBuffer;
use kingpost::object::{self, ObjectOptions};
use std::error::Error;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Limit of the bytes of a text. The compiler needs at most a few hundred bytes for each.
const MAX_TEXT: u32 = 1 << 20;
/// Limit of the work of a function, in work units: half a second to some seconds, as `docs/limits.md` shows.
const MAX_WORK: u64 = 50_000_000;
/// Limit of the memory that the compilation of a function takes, in bytes.
const MAX_MEMORY: u64 = 256 << 20;
/// Time between two checks of the time of all requests.
const TICK: Duration = Duration::from_millis(20);

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: compile_service SOCKET")?;
    let workers = thread::available_parallelism()?.get();
    Ok(serve(&UnixListener::bind(path)?, workers, Bounds::default())?)
}

/// Time limits of the service.
#[derive(Clone, Copy)]
struct Bounds {
    /// Of compiling a request.
    request: Duration,
    /// Of waiting for a client.
    client: Duration,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { request: Duration::from_secs(5), client: Duration::from_secs(10) }
    }
}

/// Answers up to `workers` connections at once, for as long as the process runs. Other clients wait.
fn serve(listener: &UnixListener, workers: usize, bounds: Bounds) -> io::Result<()> {
    let workers: Vec<Worker> = (0..workers).map(|_| Worker::new(bounds)).collect();
    thread::scope(|scope| {
        for worker in &workers {
            thread::Builder::new().spawn_scoped(scope, || worker.run(listener))?;
        }
        loop {
            thread::sleep(TICK);
            workers.iter().for_each(Worker::check_time);
        }
    })
}

/// A thread that compiles.
struct Worker {
    compiler: Compiler,
    bounds: Bounds,
    /// Beginning of the request, if there is one.
    begun: Mutex<Option<Instant>>,
    /// Whether the request took too long.
    cancel: Arc<AtomicBool>,
}

impl Worker {
    fn new(bounds: Bounds) -> Worker {
        let cancel = Arc::new(AtomicBool::new(false));
        let options = Options::default().with(|options| {
            options.limits = Limits::default().with(|limits| {
                limits.instructions = 200_000;
                limits.code_bytes = 16 << 20;
                limits.frame_bytes = 1 << 20;
                limits.work = MAX_WORK;
                limits.bytes = MAX_MEMORY;
            });
            options.cancel = Some(cancel.clone());
        });
        let settings = Settings::default().with(|settings| settings.regalloc_checker = true);
        let compiler = Compiler::baseline(settings).expect("the default settings").with_options(options);
        Worker { compiler, bounds, begun: Mutex::default(), cancel }
    }

    /// Answers one client after the other.
    fn run(&self, listener: &UnixListener) {
        for client in listener.incoming().flatten() {
            // The end of a connection is no concern of the next client.
            let _ = self.serve(client);
        }
    }

    /// Answers requests until the client closes the connection.
    fn serve(&self, mut client: UnixStream) -> io::Result<()> {
        client.set_read_timeout(Some(self.bounds.client))?;
        client.set_write_timeout(Some(self.bounds.client))?;
        let mut length = [0; 4];
        while client.read_exact(&mut length).is_ok() {
            let length = u32::from_le_bytes(length);
            if length > MAX_TEXT {
                // The text is not read, so the next request is not found.
                return send(&mut client, 1, format!("a text has at most {MAX_TEXT} bytes").as_bytes());
            }
            let mut text = vec![0; length as usize];
            client.read_exact(&mut text)?;
            match self.answer(&text) {
                Ok(object) => send(&mut client, 0, &object)?,
                Err(message) => send(&mut client, 1, message.as_bytes())?,
            }
        }
        Ok(())
    }

    /// Returns an object file, or the reason why there is none.
    fn answer(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        self.cancel.store(false, Ordering::Relaxed);
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        let result = catch_unwind(AssertUnwindSafe(|| compile(&self.compiler, text)));
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = None;
        match result {
            Ok(result) => result.map_err(|error| error.to_string()),
            Err(_) => Err("this text shows a mistake of the compiler".into()),
        }
    }

    /// Stops a request that took too long.
    fn check_time(&self) {
        let begun = *self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if begun.is_some_and(|begun| begun.elapsed() > self.bounds.request) {
            self.cancel.store(true, Ordering::Relaxed);
        }
    }
}

/// Compiles all functions of a text to an object file.
fn compile(compiler: &Compiler, text: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let (mut context, mut module) = (compiler.context(), ModuleBuffer::default());
    for mut func in kingpost::reader::parse_functions(text)? {
        compiler.compile(&mut context, &mut func, &mut module)?;
    }
    Ok(object::write(compiler.triple(), &module, &[], ObjectOptions::default())?)
}

/// Sends an answer.
fn send(client: &mut UnixStream, kind: u8, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    client.write_all(&[&[kind][..], &length.to_le_bytes(), bytes].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_testgen::text::mutate_text;
    use kingpost_testgen::worst_cases::CASES;
    use std::fs;
    use std::path::{Path, PathBuf};

    const GOOD: &[u8] = b"function %f(i64) -> i64 { block0(v0: i64): v1 = iadd v0, v0 return v1 }";

    /// Starts a service and returns its socket.
    fn start(folder: &Path, workers: usize, bounds: Bounds) -> PathBuf {
        let path = folder.join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        thread::spawn(move || serve(&listener, workers, bounds));
        path
    }

    /// Sends a request and returns the answer.
    fn request(client: &mut UnixStream, text: &[u8]) -> (u8, Vec<u8>) {
        client.write_all(&(text.len() as u32).to_le_bytes()).unwrap();
        client.write_all(text).unwrap();
        answer(client)
    }

    fn answer(client: &mut UnixStream) -> (u8, Vec<u8>) {
        let (mut kind, mut length) = ([0], [0; 4]);
        client.read_exact(&mut kind).unwrap();
        client.read_exact(&mut length).unwrap();
        let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
        client.read_exact(&mut bytes).unwrap();
        (kind[0], bytes)
    }

    fn check_good(client: &mut UnixStream) {
        let (kind, object) = request(client, GOOD);
        assert!(kind == 0 && object.starts_with(b"\x7fELF"));
    }

    /// Returns the texts of our tests.
    fn texts() -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests/run/opcodes");
        let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths.iter().map(|path| fs::read(path).unwrap()).collect()
    }

    #[test]
    fn no_request_is_lost() {
        let count: u64 = std::env::var("KINGPOST_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(2000);
        let folder = tempfile::tempdir().unwrap();
        let socket = start(folder.path(), 2, Bounds::default());
        let texts = texts();
        // More clients than workers.
        let objects: Vec<u64> = thread::scope(|scope| {
            let client = |number: u64| {
                let mut client = UnixStream::connect(&socket).unwrap();
                let mut objects = 0;
                for seed in (0..count).filter(|seed| seed % 4 == number) {
                    let mutant = mutate_text(seed, &texts[seed as usize % texts.len()]);
                    let (kind, bytes) = request(&mut client, &mutant);
                    assert!(kind == 1 || bytes.starts_with(b"\x7fELF"));
                    assert!(!bytes.starts_with(b"this text shows"), "{}", String::from_utf8_lossy(&mutant));
                    objects += u64::from(kind == 0);
                }
                check_good(&mut client);
                objects
            };
            let clients: Vec<_> = (0..4).map(|number| scope.spawn(move || client(number))).collect();
            clients.into_iter().map(|client| client.join().unwrap()).collect()
        });
        assert!(objects.iter().sum::<u64>() > count / 20, "{objects:?} objects for {count} mutants");
    }

    #[test]
    fn worst_cases_are_answered() {
        let folder = tempfile::tempdir().unwrap();
        let socket = start(folder.path(), 1, Bounds::default());
        let mut client = UnixStream::connect(socket).unwrap();
        for (name, text) in CASES {
            let (kind, bytes) = request(&mut client, text(2_000).as_bytes());
            assert!(kind == 0, "{name}: {}", String::from_utf8_lossy(&bytes));
        }
        check_good(&mut client);
    }

    #[test]
    fn bounds_are_messages() {
        let folder = tempfile::tempdir().unwrap();
        let socket = start(folder.path(), 1, Bounds { request: Duration::ZERO, ..Bounds::default() });
        let mut client = UnixStream::connect(&socket).unwrap();
        let many = GOOD.repeat(10_000);
        let (kind, message) = request(&mut client, &many);
        assert_eq!((kind, message), (1, b"cancelled".into()));
        client.write_all(&u32::MAX.to_le_bytes()).unwrap();
        assert_eq!(answer(&mut client), (1, b"a text has at most 1048576 bytes".into()));
        assert_eq!(client.read(&mut [0]).unwrap(), 0, "the connection is closed");
        // A client that says nothing, and one that leaves in the middle of a text.
        drop(UnixStream::connect(&socket).unwrap());
        UnixStream::connect(&socket).unwrap().write_all(&[9, 0, 0, 0, b'f']).unwrap();
        let (kind, message) = request(&mut UnixStream::connect(&socket).unwrap(), b"function");
        assert_eq!(kind, 1, "{}", String::from_utf8_lossy(&message));
    }
}
