//! Checks the store on a Redis server against the real server, which is killed and started again under load.

use kingpost_codegen::cache::{Cache, Redis};
use kingpost_codegen::{Compiler, Settings};
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Limit of compilations by a thread that waits for the server.
const PATIENCE: u64 = 2_000_000;

/// A server that keeps nothing on disk. Dropping it kills it.
struct Server {
    process: Child,
}

impl Server {
    fn start(port: u16) -> Server {
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        let process = command.stdout(Stdio::null()).spawn().expect("redis-server, which `make deps` installs");
        let store = Redis::new(&url(port)).expect("a URL");
        while store.ping().is_err() {
            thread::yield_now();
        }
        Server { process }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().expect("killed");
        self.process.wait().expect("ended");
    }
}

/// Returns a port that no server uses.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

fn url(port: u16) -> String {
    format!("redis://127.0.0.1:{port}")
}

fn compiler() -> Compiler {
    Compiler::baseline(Settings::default()).expect("a compiler")
}

fn cached(port: u16) -> Compiler {
    compiler().with_cache(Cache::new(Redis::new(&url(port)).expect("a URL")))
}

fn functions() -> Vec<Function> {
    let text = (1..60).map(|number| {
        format!("function %f{number}(i64) -> i64 {{ block0(v0: i64): v1 = iconst.i64 {number} v2 = sdiv v0, v1 return v2 }}\n")
    });
    kingpost_reader::parse_functions(text.collect::<String>()).expect("functions")
}

/// Returns the functions as text with their tables, and the number of hits.
fn compile(compiler: &Compiler, funcs: &[Function]) -> (String, u64) {
    let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
    for func in funcs {
        compiler.compile(&mut cx, &mut func.clone(), &mut module).expect("code");
    }
    (module.functions().map(|function| format!("{function:?}\n")).collect(), cx.stats().cache_hits)
}

#[test]
fn hits_survive_kills_of_the_server() {
    let (funcs, port) = (functions(), free_port());
    let (expected, _) = compile(&compiler(), &funcs);
    // No server is running.
    assert_eq!(compile(&cached(port), &funcs), (expected.clone(), 0));
    let server = Server::start(port);
    assert_eq!(compile(&cached(port), &funcs), (expected.clone(), 0));
    assert_eq!(compile(&cached(port), &funcs), (expected.clone(), funcs.len() as u64));

    let (shared, is_done, hits, misses) = (cached(port), AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut count = 0;
                while !is_done.load(Ordering::Relaxed) {
                    let (code, found) = compile(&shared, &funcs);
                    assert_eq!(code, expected);
                    hits.fetch_add(found, Ordering::Relaxed);
                    misses.fetch_add(funcs.len() as u64 - found, Ordering::Relaxed);
                    count += funcs.len() as u64;
                    assert!(count < PATIENCE, "the server is not found again");
                }
            });
        }
        let wait = |counter: &AtomicU64| {
            let before = counter.load(Ordering::Relaxed);
            while counter.load(Ordering::Relaxed) == before {
                thread::yield_now();
            }
        };
        wait(&hits);
        let mut server = server;
        for _ in 0..3 {
            drop(server);
            wait(&misses);
            server = Server::start(port);
            wait(&hits);
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn wrong_entries_are_misses() {
    let (funcs, port) = (functions(), free_port());
    let (expected, _) = compile(&compiler(), &funcs);
    let _server = Server::start(port);
    assert_eq!(compile(&cached(port), &funcs), (expected.clone(), 0));
    let client = redis::Client::open(url(port)).expect("a URL");
    let mut connection = client.get_connection().expect("a connection");
    let keys: Vec<String> = redis::cmd("KEYS").arg("kingpost:*").query(&mut connection).expect("keys");
    assert_eq!(keys.len(), funcs.len());
    // Each entry in the place of its neighbor, a part of an entry, and a value of another type.
    let entry: Vec<u8> = redis::cmd("GET").arg(&keys[0]).query(&mut connection).expect("an entry");
    for key in &keys[1..] {
        let _: () = redis::cmd("SET").arg(key).arg(&entry).query(&mut connection).expect("stored");
    }
    let _: () = redis::cmd("SET").arg(&keys[0]).arg(&entry[..entry.len() / 2]).query(&mut connection).expect("stored");
    let _: () = redis::cmd("DEL").arg(&keys[1]).query(&mut connection).expect("removed");
    let _: () = redis::cmd("RPUSH").arg(&keys[1]).arg("x").query(&mut connection).expect("stored");
    assert_eq!(compile(&cached(port), &funcs), (expected.clone(), 0));
    // A value of another type is replaced, too.
    assert_eq!(compile(&cached(port), &funcs), (expected, funcs.len() as u64));
}

#[test]
fn a_server_without_memory_keeps_nothing() {
    let (funcs, port) = (functions(), free_port());
    let (expected, _) = compile(&compiler(), &funcs);
    let _server = Server::start(port);
    let client = redis::Client::open(url(port)).expect("a URL");
    let mut connection = client.get_connection().expect("a connection");
    let limit = ["SET", "maxmemory", "1"];
    let _: () = redis::cmd("CONFIG").arg(&limit).query(&mut connection).expect("configured");
    let store = cached(port);
    assert_eq!(compile(&store, &funcs), (expected.clone(), 0));
    assert_eq!(compile(&store, &funcs), (expected.clone(), 0));
    let limit = ["SET", "maxmemory", "0"];
    let _: () = redis::cmd("CONFIG").arg(&limit).query(&mut connection).expect("configured");
    assert_eq!(compile(&store, &funcs), (expected.clone(), 0));
    assert_eq!(compile(&store, &funcs), (expected, funcs.len() as u64));
}

/// Checks that a server that takes connections and never answers is not asked for each function.
#[test]
fn a_silent_server_is_left_alone() {
    let (funcs, listener) = (functions(), TcpListener::bind("127.0.0.1:0").expect("a port"));
    let port = listener.local_addr().expect("an address").port();
    let (expected, _) = compile(&compiler(), &funcs);
    let clients = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&clients);
    thread::spawn(move || {
        let mut open = Vec::new();
        for client in listener.incoming() {
            open.push(client);
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert_eq!(compile(&cached(port), &funcs), (expected, 0));
    let clients = clients.load(Ordering::Relaxed);
    assert!((1..10).contains(&clients), "{clients} connections for {} functions", funcs.len());
}

#[test]
fn other_urls_are_refused() {
    for url in ["", "localhost", "http://localhost", "redis://host:port"] {
        assert!(Redis::new(url).is_err(), "{url}");
    }
}
