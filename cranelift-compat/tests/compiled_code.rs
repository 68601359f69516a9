//! Checks the tables of compiled code in Cranelift's form, for every allocator.

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::kingpost::{Compiler, Routines};
use cranelift_codegen::settings::{self, Configurable, Flags};
use cranelift_codegen::{CompiledCode, Context, FinalizedMachExceptionHandler};
use kingpost_codegen::ALLOCATORS;

fn isa(name: &str) -> OwnedTargetIsa {
    let mut builder = settings::builder();
    builder.set(name, "true").unwrap();
    cranelift_native::builder().unwrap().finish(Flags::new(builder)).unwrap()
}

/// Compiles a function with an allocator, or the default one, and with a setting turned on.
fn compile(func: Function, allocator: Option<&str>, setting: &str) -> CompiledCode {
    let (isa, mut context) = (isa(setting), Context::for_function(func));
    let mut compiler = Compiler::new(&*isa, allocator, Routines::OfCranelift).unwrap();
    context.compile_with(&mut compiler, &*isa, None).unwrap();
    context.take_compiled_code().unwrap()
}

fn function(text: &str) -> Function {
    cranelift_reader::parse_functions(text).unwrap().remove(0)
}

#[test]
fn stack_maps_and_tags_are_published() {
    let text = "function %f(i64, i64) -> i64 system_v {
        ss0 = explicit_slot 16, align = 8, key = 7
        sig0 = (i64) -> i64 system_v
    block0(v0: i64, v1: i64):
        v2 = stack_addr.i64 ss0
        store notrap v1, v2
        store notrap v1, v2+8
        <0, ss0> v3 = call_indirect sig0, v0(v1), stack_map=[i64 @ ss0+0, i64 @ ss0+8]
        v4 = load.i64 notrap v2
        v5 = iadd v3, v4
        return v5
    }";
    let isa = isa("enable_verifier");
    let mut context = Context::for_function(function(text));
    context.compile(&*isa, &mut ControlPlane::default()).unwrap();
    let buffer = &context.compiled_code().unwrap().buffer;
    let [(offset, span, map)] = buffer.user_stack_maps() else { panic!("{:?}", buffer.user_stack_maps()) };
    let call = buffer.call_sites().next().unwrap();
    let entries: Vec<u32> = map.entries().map(|(_, offset)| offset).collect();
    assert_eq!((*offset, entries[0] + 8), (call.ret_addr, entries[1]));
    let layout = buffer.frame_layout().unwrap();
    let slot = &layout.stackslots[cranelift_codegen::ir::StackSlot::from_u32(0)];
    assert_eq!((slot.offset, slot.key.unwrap().bits()), (entries[0], 7));
    assert!(*span >= 16 && layout.frame_to_fp_offset == *span);
    let tags: Vec<_> = buffer.debug_tags().flat_map(|list| list.tags.to_vec()).collect();
    assert_eq!(tags.len(), 2, "{tags:?}");
}

/// Returns a function whose second parameter has the label of variable 3, like the value that replaces it.
fn labelled() -> Function {
    use cranelift_codegen::ir::{RelSourceLoc, Value, ValueLabel, ValueLabelAssignments, ValueLabelStart};
    let text = "function %f(i64, i64) -> i64 system_v {
        block0(v0: i64, v1: i64):
            brif v0, block1, block2
        block1:
            v2 = imul v1, v0
            v3 = iadd v2, v0
            return v3
        block2:
            return v1
        }";
    let mut func = function(text);
    func.dfg.collect_debug_info();
    let start = ValueLabelStart { from: RelSourceLoc::default(), label: ValueLabel::from_u32(3) };
    let labels = func.dfg.values_labels.as_mut().unwrap();
    labels.insert(Value::from_u32(1), ValueLabelAssignments::Starts(vec![start]));
    let alias = ValueLabelAssignments::Alias { from: RelSourceLoc::default(), value: Value::from_u32(1) };
    labels.insert(Value::from_u32(2), alias);
    func
}

#[test]
fn value_labels_are_published() {
    for (allocator, _) in ALLOCATORS {
        let code = compile(labelled(), Some(allocator), "enable_verifier");
        assert_eq!(code.value_labels_ranges.len(), 1, "{allocator}");
        let ranges = &code.value_labels_ranges[&cranelift_codegen::ir::ValueLabel::from_u32(3)];
        assert!(ranges.len() >= 2, "{allocator}: the parameter, then the product: {ranges:?}");
        assert!(ranges.is_sorted_by(|a, b| a.end <= b.start), "{allocator}: {ranges:?}");
        assert!(ranges.iter().all(|range| range.start < range.end && range.end <= code.buffer.data().len() as u32));
    }
}

#[test]
fn blocks_and_edges_are_published() {
    let code = compile(labelled(), None, "machine_code_cfg_info");
    let [entry, first, second] = code.bb_starts[..] else { panic!("{:?}", code.bb_starts) };
    let mut edges = code.bb_edges.clone();
    edges.sort();
    assert_eq!(edges, [(entry, first), (entry, second)]);
}

#[test]
fn handlers_are_published() {
    for (allocator, _) in ALLOCATORS {
        let text = "function %f(i64, i64) -> i64 tail {
                sig0 = (i64) -> i64 tail
            block0(v0: i64, v1: i64):
                try_call_indirect v0(v1), sig0, block1(ret0), [ context v1, tag7: block2(exn0), tag1: block3(exn0), context v0, default: block3(exn1) ]
            block1(v2: i64):
                v3 = iadd v2, v1
                return v3
            block2(v4: i64):
                v5 = isub v4, v1
                return v5
            block3(v6: i64):
                return v6
            }";
        let code = compile(function(text), Some(allocator), "preserve_frame_pointers");
        let buffer = &code.buffer;
        let call = buffer.call_sites().next().unwrap();
        assert!(call.frame_offset.is_some(), "{allocator}");
        use FinalizedMachExceptionHandler::{Context, Default, Tag};
        let [Context(first), Tag(seven, a), Tag(one, b), Context(second), Default(c)] = *call.exception_handlers else {
            panic!("{allocator}: {:?}", call.exception_handlers)
        };
        assert_eq!((seven.as_u32(), one.as_u32()), (7, 1), "{allocator}");
        assert!(first != second && a != b && b != c, "{allocator}: {:?}", call.exception_handlers);
        assert!([a, b, c].iter().all(|&at| at >= call.ret_addr && at < buffer.data().len() as u32), "{allocator}");
    }
}
