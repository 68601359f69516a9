//! Compilation of one function with a cache.

use crate::cache::Cache;
use crate::compiler::{Compiler, Context};
use crate::error::CompileError;
use crate::validate;
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use kingpost_opt::rewrite::RuleLimits;

impl Compiler {
    /// Returns the cache, if compilation has no result but the compiled function, and does not depend on functions that
    /// were compiled earlier.
    pub(crate) fn usable_cache(&self) -> Option<&Cache> {
        let options = self.options();
        let observes = options.count || options.list || options.dump.is_some() || options.stop_after.is_some();
        let is_pure = !observes && options.rules == RuleLimits::default() && !self.settings().regalloc_verbose_logs;
        self.cache().filter(|_| is_pure)
    }

    /// Adds the compiled function of `func` in `cache` to `module`, or else compiles it and adds it to both.
    pub(crate) fn compile_cached(
        &self,
        cache: &Cache,
        cx: &mut Context,
        func: &mut Function,
        module: &mut ModuleBuffer,
    ) -> Result<(), CompileError> {
        let options = self.options();
        if options.is_cancelled() {
            return Err(CompileError::Cancelled);
        }
        let (key, clif_insts) = (cache.key(func, options), func.dfg.num_insts() as u64);
        let Some(found) = cache.get(key, module) else {
            self.compile_anew(cx, func, module)?;
            if validate::may_be_cached(cx) {
                cache.put(key, &Cache::entry(key, &module.function(module.len() - 1)));
            }
            return Ok(());
        };
        cx.stats.cache_hits += 1;
        if !cache.verifies(key) {
            cx.stats.functions += 1;
            cx.stats.clif_insts += clif_insts;
            cx.stats.code_bytes += module.last_code_bytes() as u64;
            return Ok(());
        }
        module.pop_function();
        self.compile_anew(cx, func, module)?;
        if found == Cache::entry(key, &module.function(module.len() - 1)) {
            return Ok(());
        }
        module.pop_function();
        Err(CompileError::Cached { key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{Key, Store};
    use crate::options::Options;
    use kingpost_mach::settings::Settings;

    /// A store that has one wrong entry under every key.
    struct Wrong;

    impl Store for Wrong {
        fn get(&self, key: Key) -> Option<Vec<u8>> {
            let mut module = ModuleBuffer::default();
            let compiler = Compiler::host(Settings::default()).unwrap();
            compiler.compile(&mut compiler.context(), &mut function("iadd"), &mut module).unwrap();
            Some(Cache::entry(key, &module.function(0)))
        }

        fn put(&self, _: Key, _: &[u8]) {}
    }

    fn function(opcode: &str) -> Function {
        let text = format!("function %f(i32) -> i32 {{ block0(v0: i32): v1 = {opcode} v0, v0 return v1 }}");
        kingpost_reader::parse_functions(text).unwrap().remove(0)
    }

    #[test]
    fn wrong_entries_are_found() {
        let compile = |opcode, every| {
            let cache = Cache::new(Wrong).verified(every);
            let compiler = Compiler::host(Settings::default()).unwrap().with_cache(cache);
            let mut module = ModuleBuffer::default();
            let result = compiler.compile(&mut compiler.context(), &mut function(opcode), &mut module);
            assert_eq!(module.len(), usize::from(result.is_ok()));
            result
        };
        assert_eq!(compile("isub", 0), Ok(()));
        assert_eq!(compile("iadd", 1), Ok(()));
        assert!(matches!(compile("isub", 1), Err(CompileError::Cached { .. })));
        let key = Cache::new(Wrong).key(&function("isub"), &Options::default());
        let error = CompileError::Cached { key }.to_string();
        assert!(error.contains(&key.to_string()), "{error}");
    }
}
