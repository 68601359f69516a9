//! The cache that options describe.

use crate::args::CompileArgs;
use crate::exit_status::Stop;
use kingpost_codegen::cache::{Cache, Directory};

/// Opens the cache of `--cache`, if it is given. Its keys depend on the contents of this program's file, so that programs
/// of one version but different sources share no entries.
pub(crate) fn open(args: &CompileArgs) -> Result<Option<Cache>, Stop> {
    let Some(folder) = &args.cache else { return Ok(None) };
    let store = Directory::open(folder, u64::from(args.cache_limit) << 20)
        .map_err(|error| Stop::Failure(format!("{}: {error}", folder.display())))?;
    let program = std::fs::read(std::env::current_exe()?)?;
    let verified = args.cache_verify.map_or(0, |every| every.get().into());
    Ok(Some(Cache::new(store).salted(&program).verified(verified)))
}
