//! Checks that the `Context` of our package `cranelift-codegen` compiles with our compiler, and has Cranelift's passes.

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::entity::EntityRef;
use cranelift_codegen::incremental_cache::CacheKvStore;
use cranelift_codegen::ir::{Function, UserExternalName, UserExternalNameRef};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::kingpost::{Compiler, CraneliftContext, Routines, with_cranelift};
use cranelift_codegen::settings::{self, Configurable, Flags};
use cranelift_codegen::{CodegenError, Context, FinalizedRelocTarget};
use std::borrow::Cow;
use std::collections::HashMap;

/// Ten functions of Cranelift's text.
const FUNCTIONS: &str = "
function %add(i64, i64) -> i64 { block0(v0: i64, v1: i64): v2 = iadd v0, v1 return v2 }
function %wide(i128, i128) -> i128 { block0(v0: i128, v1: i128): v2 = imul v0, v1 return v2 }
function %divide(i32, i32) -> i32 { block0(v0: i32, v1: i32): v2 = sdiv v0, v1 return v2 }
function %load(i64) -> f64 { block0(v0: i64): v1 = load.f64 v0+8 v2 = sqrt v1 return v2 }
function %lanes(i8x16, i8x16) -> i8x16 { block0(v0: i8x16, v1: i8x16): v2 = sadd_sat v0, v1 return v2 }
function %trap(i64) -> i64 { block0(v0: i64): trapz v0, user3 return v0 }
function %loop(i64) -> i64 {
block0(v0: i64):
  v1 = iconst.i64 0
  jump block1(v0, v1)
block1(v2: i64, v3: i64):
  v4 = iadd v3, v2
  v6 = iconst.i64 -1
  v5 = iadd v2, v6
  brif v5, block1(v5, v4), block2
block2:
  return v4
}
function %table(i32) -> i32 {
block0(v0: i32):
  br_table v0, block1, [block2, block1]
block1:
  v1 = iconst.i32 7
  return v1
block2:
  return v0
}
function %call(i64) -> i64 {
  fn0 = colocated u0:1(i64) -> i64
block0(v0: i64):
  v1 = call fn0(v0)
  v2 = call fn0(v1)
  return v2
}
function %slot(i64) -> i64 {
  ss0 = explicit_slot 64
block0(v0: i64):
  v1 = stack_addr.i64 ss0
  store v0, v1+16
  v2 = load.i64 v1+16
  return v2
}";

fn functions(text: &str) -> Vec<Function> {
    cranelift_reader::parse_functions(text).unwrap()
}

fn isa(more: &[(&str, &str)]) -> OwnedTargetIsa {
    let mut builder = settings::builder();
    builder.set("enable_multi_ret_implicit_sret", "true").unwrap();
    builder.set("enable_llvm_abi_extensions", "true").unwrap();
    more.iter().for_each(|(name, value)| builder.set(name, value).unwrap());
    cranelift_native::builder().unwrap().finish(Flags::new(builder)).unwrap()
}

fn compile(func: &Function, isa: &OwnedTargetIsa) -> Result<Vec<u8>, CodegenError> {
    let mut context = Context::for_function(func.clone());
    let code = context.compile(&**isa, &mut ControlPlane::default()).map_err(|error| error.inner)?;
    Ok(code.code_buffer().to_vec())
}

#[test]
fn contexts_compile_with_our_compiler() {
    assert!(!cranelift_codegen::kingpost_version().is_empty());
    for level in ["none", "speed"] {
        let isa = isa(&[("opt_level", level), ("regalloc_checker", "true")]);
        let mut compiler = Compiler::new(&*isa, None, Routines::All).unwrap();
        let (mut context, mut differing) = (Context::new(), 0);
        for func in functions(FUNCTIONS) {
            context.clear();
            context.func = func.clone();
            let code = context.compile(&*isa, &mut ControlPlane::default()).unwrap().code_buffer().to_vec();
            assert_eq!(context.func, func, "the function does not change");
            let module = context.compile_with(&mut compiler, &*isa, None).unwrap();
            assert_eq!(code, module.code_buffer(), "modules have the same code");
            let theirs = with_cranelift(|| compile(&func, &isa).unwrap());
            let mut upstream = CraneliftContext::for_function(func);
            assert_eq!(theirs, upstream.compile(&*isa, &mut ControlPlane::default()).unwrap().code_buffer());
            differing += usize::from(code != theirs);
        }
        assert!(differing > 5, "{differing} functions differ from Cranelift's");
    }
}

#[test]
fn one_context_serves_many_settings() {
    let [none, speed] = ["none", "speed"].map(|level| isa(&[("opt_level", level)]));
    let mut context = Context::new();
    for func in functions(FUNCTIONS) {
        for isa in [&none, &speed, &none] {
            context.clear();
            context.func = func.clone();
            let code = context.compile(&**isa, &mut ControlPlane::default()).unwrap().code_buffer();
            assert_eq!(code, compile(&func, isa).unwrap());
        }
    }
}

#[test]
fn routines_that_cranelift_lacks_are_refused() {
    let text = "function %f(i128, i128) -> i128 { block0(v0: i128, v1: i128): v2 = udiv v0, v1 return v2 }";
    let isa = isa(&[]);
    let refused = compile(&functions(text)[0], &isa);
    let Err(CodegenError::Unsupported(what)) = refused else { panic!("{refused:?}") };
    assert!(what.contains("`udiv` on i128"), "{what}");
    // Modules find the routine.
    let mut compiler = Compiler::new(&*isa, None, Routines::All).unwrap();
    let mut context = Context::for_function(functions(text).remove(0));
    let code = context.compile_with(&mut compiler, &*isa, None).unwrap();
    assert_eq!(code.buffer.relocs().len(), 1);
}

#[test]
fn invalid_functions_and_settings_are_errors() {
    let text = "function %f(i64) -> i64 { block0(v0: i64): return }";
    let refused = compile(&functions(text)[0], &isa(&[]));
    assert!(matches!(refused, Err(CodegenError::Verifier(_))), "{refused:?}");
    let refused = compile(&functions(FUNCTIONS)[0], &isa(&[("tls_model", "macho")]));
    let Err(CodegenError::Unsupported(what)) = refused else { panic!("{refused:?}") };
    assert!(what.contains("tls_model"), "{what}");
}

#[derive(Default)]
struct Store(HashMap<Vec<u8>, Vec<u8>>);

impl CacheKvStore for Store {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.0.get(key).map(|value| Cow::Borrowed(&**value))
    }

    fn insert(&mut self, key: &[u8], value: Vec<u8>) {
        self.0.insert(key.to_vec(), value);
    }
}

impl Store {
    /// Compiles with the cache. Returns the code, the names that it calls, and whether it was in the cache.
    fn compile(&mut self, func: &Function, isa: &OwnedTargetIsa) -> (Vec<u8>, Vec<UserExternalName>, bool) {
        let mut context = Context::for_function(func.clone());
        let compiled = context.compile_with_cache(&**isa, self, &mut ControlPlane::default());
        let (code, is_cached) = compiled.unwrap();
        let called = code.buffer.relocs().iter().map(|reloc| match &reloc.target {
            FinalizedRelocTarget::ExternalName(cranelift_codegen::ir::ExternalName::User(name)) => {
                func.params.user_named_funcs()[*name].clone()
            }
            target => panic!("{target:?}"),
        });
        (code.code_buffer().to_vec(), called.collect(), is_cached)
    }
}

#[test]
fn the_cache_has_code_of_our_compiler() {
    let (isa, checks) = (isa(&[]), isa(&[("enable_incremental_compilation_cache_checks", "true")]));
    let mut store = Store::default();
    for func in functions(FUNCTIONS) {
        let (code, _, is_cached) = store.compile(&func, &isa);
        assert!(!is_cached && code == compile(&func, &isa).unwrap());
        let (again, _, is_cached) = store.compile(&func, &isa);
        assert!(is_cached && code == again);
        store.compile(&func, &checks);
        store.compile(&func, &checks);
        // Cranelift's compiler does not find these entries.
        let (theirs, _, is_cached) = with_cranelift(|| store.compile(&func, &isa));
        assert!(!is_cached && theirs == with_cranelift(|| compile(&func, &isa).unwrap()));
    }
}

/// Checks that cached code of a function that calls one function twice is not wrong for a function that calls two.
#[test]
fn cached_code_names_what_the_function_calls() {
    let text = "function %f(i64) -> i64 {
        fn0 = u0:1(i64) -> i64
        fn1 = u0:2(i64) -> i64
    block0(v0: i64):
        v1 = call fn0(v0)
        v2 = call fn1(v1)
        return v2
    }";
    let (isa, mut store) = (isa(&[]), Store::default());
    let different = functions(text).remove(0);
    let mut equal = different.clone();
    equal.params.reset_user_func_name(UserExternalNameRef::new(1), UserExternalName::new(0, 1));
    let names = |func: &Function, store: &mut Store| {
        let (_, names, is_cached) = store.compile(func, &isa);
        (names.iter().map(|name| name.index).collect::<Vec<_>>(), is_cached)
    };
    assert_eq!(names(&equal, &mut store), (vec![1, 1], false));
    assert_eq!(names(&different, &mut store), (vec![1, 2], true));
}

#[test]
fn passes_are_upstreams() {
    let isa = isa(&[("opt_level", "speed")]);
    for func in functions(FUNCTIONS) {
        let mut ours = Context::for_function(func.clone());
        let mut theirs = CraneliftContext::for_function(func);
        ours.flowgraph();
        theirs.flowgraph();
        ours.verify(&*isa).unwrap();
        ours.compute_loop_analysis();
        ours.eliminate_unreachable_code(&*isa).unwrap();
        theirs.eliminate_unreachable_code(&*isa).unwrap();
        ours.canonicalize_nans(&*isa).unwrap();
        theirs.canonicalize_nans(&*isa).unwrap();
        ours.optimize(&*isa, &mut ControlPlane::default()).unwrap();
        theirs.optimize(&*isa, &mut ControlPlane::default()).unwrap();
        assert_eq!(ours.func.display().to_string(), theirs.func.display().to_string());
        // The fields can be borrowed together, as Cranelift's can.
        let Context { func, cfg, domtree, .. } = &mut ours;
        domtree.compute(func, cfg);
    }
}

#[test]
fn contexts_are_shared_by_threads() {
    fn check<T: Send + Sync>() {}
    check::<Context>();
}
