//! The cache that options describe.

use crate::args::CompileArgs;
use crate::exit_status::Stop;
use kingpost_codegen::cache::{Cache, Directory};
use std::path::Path;

/// Opens the cache of `--cache`, if it is given. Its keys depend on the contents of this program's file, so that programs
/// of one version but different sources share no entries.
pub(crate) fn open(args: &CompileArgs) -> Result<Option<Cache>, Stop> {
    let Some(place) = &args.cache else { return Ok(None) };
    let cache = match url(place) {
        Some(url) => server(url)?,
        None => Cache::new(
            Directory::open(place, u64::from(args.cache_limit) << 20)
                .map_err(|error| Stop::Failure(format!("{}: {error}", place.display())))?,
        ),
    };
    let program = std::fs::read(std::env::current_exe()?)?;
    let verified = args.cache_verify.map_or(0, |every| every.get().into());
    Ok(Some(cache.salted(&program).verified(verified)))
}

/// Returns the place of a cache if it is a URL.
fn url(place: &Path) -> Option<&str> {
    place.to_str().filter(|place| place.contains("://"))
}

/// Returns a cache on a server. A server that does not answer is reported, and the cache is then empty.
#[cfg(feature = "redis")]
fn server(url: &str) -> Result<Cache, Stop> {
    let store = kingpost_codegen::cache::Redis::new(url).map_err(|error| Stop::Failure(format!("{url}: {error}")))?;
    if let Err(error) = store.ping() {
        crate::diagnostics::report(&format!("warning: {url}: {error}"));
    }
    Ok(Cache::new(store))
}

#[cfg(not(feature = "redis"))]
fn server(url: &str) -> Result<Cache, Stop> {
    Err(Stop::Failure(format!("{url}: this program was built without the feature `redis`")))
}
