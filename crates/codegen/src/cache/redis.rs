//! A store on a Redis server, which machines share.
//!
//! An entry is the value of the key `kingpost:` followed by 32 digits. The server bounds the memory of all entries itself,
//! by `maxmemory` with the policy `allkeys-lru`. While it cannot be reached, every entry is a miss, and each second one
//! thread tries to connect again.

use super::store::{Key, Store};
use redis::{Client, Connection, FromRedisValue, RedisResult};
use std::fmt;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time limit of connecting, of a request and of its answer.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Time between a failure to connect and the next attempt.
const PAUSE: Duration = Duration::from_secs(1);

/// A store on a Redis server. Each thread that waits for an answer has a connection.
///
/// ```no_run
/// use kingpost_codegen::cache::{Cache, Redis};
/// use kingpost_codegen::{Compiler, Settings};
///
/// let store = Redis::new("redis://cache.example:6379/0").unwrap();
/// let compiler = Compiler::host(Settings::default()).unwrap().with_cache(Cache::new(store));
/// ```
pub struct Redis {
    client: Client,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Open connections that no thread uses.
    idle: Vec<Connection>,
    /// Time of the next attempt to connect, after a failure.
    next_attempt: Option<Instant>,
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis").field("server", self.client.get_connection_info().addr()).finish_non_exhaustive()
    }
}

impl Redis {
    /// Returns a store on the server at `url`: `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`, or `unix://PATH` for a
    /// socket. Does not connect.
    ///
    /// # Errors
    /// If the URL is not valid.
    pub fn new(url: &str) -> io::Result<Redis> {
        let client = Client::open(url).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Redis { client, state: Mutex::default() })
    }

    /// Checks that the server answers, and connects to it first if no connection is open.
    ///
    /// # Errors
    /// If the server does not answer.
    pub fn ping(&self) -> io::Result<()> {
        self.ask(&redis::cmd("PING")).map(|_: String| ()).map_err(io::Error::other)
    }

    /// Returns the answer to a command.
    fn ask<T: FromRedisValue>(&self, command: &redis::Cmd) -> RedisResult<T> {
        let idle = self.state().idle.pop();
        if let Some(connection) = idle {
            match self.ask_on(connection, command) {
                // The server may have been started again since the connection was opened.
                Err(error) if error.is_unrecoverable_error() => self.state().idle.clear(),
                answer => return answer,
            }
        }
        self.ask_on(self.connect()?, command)
    }

    /// Returns the answer to a command on this connection, which is kept unless it is broken.
    fn ask_on<T: FromRedisValue>(&self, mut connection: Connection, command: &redis::Cmd) -> RedisResult<T> {
        let answer = command.query(&mut connection);
        // After a time limit the connection would give the old answer to the next command.
        if !answer.as_ref().is_err_and(|error| error.is_unrecoverable_error() || error.is_io_error()) {
            self.state().idle.push(connection);
        }
        answer
    }

    fn connect(&self) -> RedisResult<Connection> {
        let now = Instant::now();
        {
            let mut state = self.state();
            if state.next_attempt.is_some_and(|next| now < next) {
                return Err((redis::ErrorKind::Io, "the server could not be reached a moment ago").into());
            }
            // Other threads do not wait for the same server meanwhile.
            state.next_attempt = state.next_attempt.map(|_| now + PAUSE + TIMEOUT);
        }
        let connection = self.client.get_connection_with_timeout(TIMEOUT).and_then(|connection| {
            connection.set_read_timeout(Some(TIMEOUT))?;
            connection.set_write_timeout(Some(TIMEOUT))?;
            Ok(connection)
        });
        if let Err(error) = &connection {
            log::warn!("cache: {error}");
        }
        self.state().next_attempt = connection.as_ref().err().map(|_| Instant::now() + PAUSE);
        connection
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name(key: Key) -> String {
    format!("kingpost:{key}")
}

impl Store for Redis {
    fn get(&self, key: Key) -> Option<Vec<u8>> {
        self.ask(redis::cmd("GET").arg(name(key))).ok().flatten()
    }

    fn put(&self, key: Key, entry: &[u8]) {
        // A server that is full, read-only or gone keeps nothing.
        let _: RedisResult<()> = self.ask(redis::cmd("SET").arg(name(key)).arg(entry));
    }
}
