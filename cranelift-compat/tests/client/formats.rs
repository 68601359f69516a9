//! Objects of other systems: Windows, executed by Wine, and macOS, compared with Cranelift's.

use crate::{Machine, objects_of, signature};
use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::ir::{self, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable, Flags};
use cranelift_module::{DataDescription, Linkage, Module, ModuleReloc, ModuleRelocTarget, default_libcall_names};
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
use std::process::Command;

fn isa(triple: &str) -> OwnedTargetIsa {
    let mut builder = settings::builder();
    for name in ["is_pic", "preserve_frame_pointers", "regalloc_checker"] {
        builder.set(name, "true").unwrap();
    }
    let isa = cranelift_codegen::isa::lookup_by_name(triple).unwrap();
    isa.finish(Flags::new(builder)).unwrap()
}

#[test]
fn objects_for_windows_have_upstreams_results() {
    let tools = ["x86_64-w64-mingw32-gcc", "wine"];
    if let Some(tool) = tools.into_iter().find(|tool| Command::new(tool).arg("--version").output().is_err()) {
        assert!(std::env::var_os("CI").is_none(), "CI has {tool}");
        eprintln!("SKIPPED: objects for Windows: no {tool}");
        return;
    }
    objects_of(&Machine { isa: isa("x86_64-pc-windows-gnu"), cc: tools[0], link: &[], run: &["wine"] });
}

/// Fills a module with a function and data that have every relocation of the format.
fn fill<M: Module>(module: &mut M) {
    let triple = module.isa().triple().clone();
    let signature = signature(module, &[], &[types::I64]);
    let callee = module.declare_function("callee", Linkage::Import, &signature).unwrap();
    let weak = module.declare_function("weak", Linkage::Preemptible, &signature).unwrap();
    let function = module.declare_function("function", Linkage::Export, &signature).unwrap();
    let word = module.declare_data("word", Linkage::Local, true, false).unwrap();
    let is_x86 = triple.architecture == target_lexicon::Architecture::X86_64;
    let is_macho = triple.binary_format == target_lexicon::BinaryFormat::Macho;
    let kinds: &[Reloc] = match (is_x86, is_macho) {
        (true, true) => &[Reloc::X86PCRel4, Reloc::X86CallPCRel4, Reloc::X86CallPLTRel4, Reloc::X86GOTPCRel4],
        (true, false) => &[Reloc::X86PCRel4, Reloc::X86CallPCRel4],
        (false, true) => &[
            Reloc::Arm64Call,
            Reloc::Aarch64AdrPrelPgHi21,
            Reloc::Aarch64AddAbsLo12Nc,
            Reloc::Aarch64AdrGotPage21,
            Reloc::Aarch64Ld64GotLo12Nc,
        ],
        (false, false) => &[],
    };
    let mut relocs = Vec::new();
    let addend = if is_x86 { -4 } else { 0 };
    let data_name = ModuleRelocTarget::user(1, word.as_u32());
    for (index, &kind) in kinds.iter().enumerate() {
        for (half, name) in [ModuleRelocTarget::user(0, callee.as_u32()), data_name.clone()].into_iter().enumerate() {
            relocs.push(ModuleReloc { offset: (8 * index + 4 * half) as u32, kind, name, addend });
        }
    }
    relocs.push(ModuleReloc {
        offset: 64,
        kind: Reloc::Abs8,
        name: ModuleRelocTarget::LibCall(ir::LibCall::CeilF64),
        addend: 8,
    });
    module.define_function_bytes(function, 16, &[0; 80], &relocs).unwrap();
    module.define_function_bytes(weak, 16, &[0x90; 16], &[]).unwrap();
    let mut data = DataDescription::new();
    data.define(vec![7; 24].into_boxed_slice());
    let function = module.declare_func_in_data(function, &mut data);
    data.write_function_addr(8, function);
    let itself = module.declare_data_in_data(word, &mut data);
    data.write_data_addr(16, itself, 4);
    module.define_data(word, &data).unwrap();
    let mut data = DataDescription::new();
    data.define_zeroinit(100);
    let zeros = module.declare_data("zeros", Linkage::Hidden, true, false).unwrap();
    module.define_data(zeros, &data).unwrap();
    let mut data = DataDescription::new();
    data.define(b"kept".to_vec().into_boxed_slice());
    data.set_custom_section(if is_macho { "__DATA,__mine,regular,no_dead_strip+live_support" } else { ".mine" });
    data.used = true;
    let kept = module.declare_data("kept", Linkage::Export, false, false).unwrap();
    module.define_data(kept, &data).unwrap();
}

/// Returns what a linker sees of an object: sections with their bytes, flags and relocations, then symbols.
fn describe(bytes: &[u8]) -> Vec<String> {
    let file = object::File::parse(bytes).unwrap();
    let mut lines = Vec::new();
    for section in file.sections().filter(|section| section.size() > 0) {
        let name = section.name().unwrap();
        lines.push(format!("{name}: {:x?} {:?} {}", section.data().unwrap(), section.flags(), section.align()));
        for (offset, relocation) in section.relocations() {
            let RelocationTarget::Symbol(symbol) = relocation.target() else { panic!("{relocation:?}") };
            let target = file.symbol_by_index(symbol).unwrap();
            lines.push(format!(
                "  {offset}: {} {} {:?}",
                target.name().unwrap(),
                relocation.addend(),
                relocation.flags()
            ));
        }
    }
    let mut symbols: Vec<String> = file
        .symbols()
        .map(|symbol| {
            format!("{} {} {:?} {:?}", symbol.name().unwrap(), symbol.address(), symbol.kind(), symbol.flags())
        })
        .collect();
    symbols.sort();
    lines.extend(symbols);
    lines
}

/// Checks that objects for every system differ in nothing from the objects of Cranelift's module, if functions are given as bytes.
#[test]
fn objects_of_bytes_are_upstreams() {
    for triple in [
        "x86_64-unknown-linux-gnu",
        "x86_64-pc-windows-gnu",
        "x86_64-pc-windows-msvc",
        "x86_64-apple-darwin",
        "aarch64-apple-darwin",
        "aarch64-pc-windows-msvc",
    ] {
        let builder = cranelift_object::ObjectBuilder::new(isa(triple), "module", default_libcall_names()).unwrap();
        let mut theirs = cranelift_object::ObjectModule::new(builder);
        fill(&mut theirs);
        let builder = cranelift_compat::ObjectBuilder::new(isa(triple), "module", default_libcall_names()).unwrap();
        let mut ours = cranelift_compat::ObjectModule::new(builder);
        fill(&mut ours);
        let (theirs, ours) = (theirs.finish().emit().unwrap(), ours.finish().emit().unwrap());
        assert_eq!(describe(&ours).join("\n"), describe(&theirs).join("\n"), "{triple}");
    }
}

#[test]
fn invalid_names_of_sections_are_errors() {
    let builder = cranelift_compat::ObjectBuilder::new(isa("aarch64-apple-darwin"), "module", default_libcall_names());
    let mut module = cranelift_compat::ObjectModule::new(builder.unwrap());
    for (name, expected) in [
        ("__DATA", "expected `segment,section`"),
        ("__DATA,a_name_that_is_too_long", "each name has at most 16 bytes"),
        ("__DATA,__a,odd", "unknown word `odd`"),
        ("__DATA,__a,regular,no_toc+odd", "unknown word `odd`"),
        ("__DATA,__a,regular,no_toc,4", "too many parts"),
    ] {
        let id = module.declare_data(name, Linkage::Export, true, false).unwrap();
        let mut data = DataDescription::new();
        data.define_zeroinit(8);
        data.set_custom_section(name);
        let error = module.define_data(id, &data).unwrap_err();
        assert!(format!("{error:?}").contains(expected), "{error:?}");
    }
}
