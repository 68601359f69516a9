//! A store on a Redis server, which machines share.
//!
//! An entry is the value of the key `kingpost:` followed by 32 digits. The server bounds the memory of all entries itself,
//! by `maxmemory` with the policy `allkeys-lru`. While it does not answer, every entry is a miss. One thread tries again
//! after a second, and after twice the time since the last attempt if that fails, up to a minute.

use super::store::{Key, Store};
use redis::{Client, Connection, FromRedisValue, RedisError, RedisResult};
use std::fmt;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time limit of connecting, of a request and of its answer.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Shortest and longest time between a failure and the next attempt to connect.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(64)];

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
    /// The last failure, if no answer came since: the time of the next attempt to connect, and the pause before it.
    failure: Option<(Instant, Duration)>,
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
        match &answer {
            // After a time limit the connection would give the old answer to the next command.
            Err(error) if error.is_unrecoverable_error() || error.is_io_error() => self.failed(error),
            _ => {
                let mut state = self.state();
                state.idle.push(connection);
                state.failure = None;
            }
        }
        answer
    }

    fn connect(&self) -> RedisResult<Connection> {
        let now = Instant::now();
        if let Some((next, pause)) = &mut self.state().failure {
            if now < *next {
                return Err((redis::ErrorKind::Io, "the server did not answer a moment ago").into());
            }
            // Other threads do not wait for the same server meanwhile.
            *next = now + *pause + TIMEOUT;
        }
        let connection = self.client.get_connection_with_timeout(TIMEOUT).and_then(|connection| {
            connection.set_read_timeout(Some(TIMEOUT))?;
            connection.set_write_timeout(Some(TIMEOUT))?;
            Ok(connection)
        });
        connection.inspect_err(|error| self.failed(error))
    }

    /// Records that the server did not answer.
    fn failed(&self, error: &RedisError) {
        log::warn!("cache: {error}");
        let [shortest, longest] = PAUSES;
        let mut state = self.state();
        let pause = state.failure.map_or(shortest, |(_, pause)| longest.min(2 * pause));
        state.failure = Some((Instant::now() + pause, pause));
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
