//! Checks registers that are allocated during instruction selection: the checker judges the emitted items.

use kingpost_checker::Checker;
use kingpost_codegen::{Compiler, Options, Settings, Stats};
use kingpost_ir::analyses::Analyses;
use kingpost_mach::{AllocatedCode, AllocatedInst, Code, InstOrEdit, Isa, LowerState, ModuleBuffer, Regs};
use kingpost_regalloc::{Allocation, EditKind, PReg, RegClass, Slot};
use kingpost_regalloc_fused::Fused;

/// Loops, calls, parameters on edges, more values than there are registers.
const SERVED: &str = "
function %nest(i64, i64) -> i64 {
    fn0 = %next(i64) -> i64
block0(v0: i64, v1: i64):
    v2 = iconst.i64 7
    jump block1(v2, v0)
block1(v3: i64, v4: i64):
    v5 = iadd v3, v1
    jump block2(v5, v4)
block2(v6: i64, v7: i64):
    v8 = call fn0(v6)
    v9 = imul v8, v0
    v10 = isub v7, v1
    brif v9, block2(v9, v10), block3
block3:
    v11 = bxor v10, v5
    brif v11, block1(v11, v9), block4
block4:
    v12 = iadd v11, v0
    return v12
}
function %wide(i64) -> i64 {
block0(v0: i64):
    v1 = load.i64 v0
    v2 = load.i64 v0+8
    v3 = load.i64 v0+16
    v4 = load.i64 v0+24
    v5 = load.i64 v0+32
    v6 = load.i64 v0+40
    v7 = load.i64 v0+48
    v8 = load.i64 v0+56
    v9 = load.i64 v0+64
    v10 = load.i64 v0+72
    v11 = load.i64 v0+80
    v12 = load.i64 v0+88
    v13 = load.i64 v0+96
    v14 = load.i64 v0+104
    v15 = load.i64 v0+112
    v16 = load.i64 v0+120
    v17 = udiv v15, v16
    v18 = ishl v17, v14
    v19 = imul v18, v13
    v20 = imul v19, v12
    v21 = imul v20, v11
    v22 = imul v21, v10
    v23 = imul v22, v9
    v24 = imul v23, v8
    v25 = imul v24, v7
    v26 = imul v25, v6
    v27 = imul v26, v5
    v28 = imul v27, v4
    v29 = imul v28, v3
    v30 = imul v29, v2
    v31 = imul v30, v1
    return v31
}
function %catch(i64, i64) -> i64 tail {
    sig0 = (i64) -> i64 tail
    fn0 = %may_throw(i64) -> i64 tail
block0(v0: i64, v1: i64):
    jump block1(v0)
block1(v2: i64):
    try_call fn0(v2), sig0, block2(ret0), [ default: block3(exn0, v1) ]
block2(v3: i64):
    v4 = iadd v3, v1
    brif v4, block1(v4), block4
block3(v5: i64, v6: i64):
    v7 = isub v5, v6
    return v7
block4:
    return v3
}";

/// A function that `fused` leaves to another allocator.
const LEFT: &str = "
function %catch(i64) -> i64 tail {
    sig0 = (i64) -> i64 tail
    fn0 = %may_throw(i64) -> i64 tail
block0(v0: i64):
    try_call fn0(v0), sig0, block1(ret0), [ context v0, default: block2(exn0) ]
block1(v1: i64):
    return v1
block2(v2: i64):
    return v2
}";

/// Returns the concatenated code of all functions, and the counters.
fn compile(text: &str, target: &str, setting: Option<&str>, options: Options) -> (Vec<u8>, Stats) {
    let mut settings = Settings::default();
    settings.set("regalloc_algorithm", "fused").expect("a setting");
    if let Some(name) = setting {
        settings.set(name, "true").expect("a setting");
    }
    let triple = format!("{target}-unknown-linux-gnu").parse().expect("a triple");
    let compiler = Compiler::new(&triple, settings, &[]).expect("a target").with_options(options);
    let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
    for func in &mut kingpost_reader::parse_functions(text).expect("well-formed") {
        compiler.compile(&mut cx, func, &mut module).expect("it compiles");
    }
    let code = (0..module.len()).flat_map(|index| module.function(index).code.to_vec());
    (code.collect(), *cx.stats())
}

/// Returns the first error in the items.
fn fault(code: &Code, allocated: &AllocatedCode, isa: &dyn Isa) -> Option<String> {
    let mut answer = Allocation::default();
    if let Err(error) = allocated.allocation(code, isa.rows(), isa.env(), &mut answer) {
        return Some(error.to_string());
    }
    let errors = Checker::new().check(&code.problem, isa.env(), &answer).err()?;
    Some(errors[0].to_string())
}

/// Returns the register after `reg` in its class.
fn other(reg: PReg, isa: &dyn Isa) -> PReg {
    let all: Vec<PReg> = isa.env().class(reg.class()).allocatable().iter().collect();
    let next = all.iter().position(|&each| each == reg).map_or(0, |at| (at + 1) % all.len());
    all[next]
}

/// Returns modified copies of one of the items: with another register, place, instruction or order.
fn wrong(item: &InstOrEdit, slots: u32, isa: &dyn Isa) -> Vec<InstOrEdit> {
    let next = |slot: Slot| Slot::from_u32((slot.as_u32() + 1) % slots);
    let mut found = Vec::new();
    match *item {
        InstOrEdit::Inst(placed) => {
            let regs = &placed.regs.to_array()[..placed.regs.len()];
            for k in 0..regs.len() {
                let mut regs = regs.to_vec();
                regs[k] = other(regs[k], isa);
                found.push(InstOrEdit::Inst(AllocatedInst { regs: Regs::of(&regs), ..placed }));
            }
            let (mut row, mut imm, mut aux) = (placed, placed, placed);
            row.inst.row.0 += 1;
            imm.inst.imm += 1;
            aux.inst.aux += 1;
            found.extend([row, imm, aux].map(InstOrEdit::Inst));
            if let Some(slot) = placed.slot.expand() {
                found.push(InstOrEdit::Inst(AllocatedInst { slot: next(slot).into(), ..placed }));
            }
        }
        InstOrEdit::Edit(EditKind::Move { from, to, width }) => {
            found.push(InstOrEdit::Edit(EditKind::Move { from: other(from, isa), to, width }));
            found.push(InstOrEdit::Edit(EditKind::Move { from, to: other(to, isa), width }));
            found.push(InstOrEdit::Edit(EditKind::Move { from, to, width: 1 }));
        }
        InstOrEdit::Edit(EditKind::Spill { from, to, width }) => {
            found.push(InstOrEdit::Edit(EditKind::Spill { from: other(from, isa), to, width }));
            found.push(InstOrEdit::Edit(EditKind::Spill { from, to: next(to), width }));
            found.push(InstOrEdit::Edit(EditKind::Fill { from: to, to: from, width }));
        }
        InstOrEdit::Edit(EditKind::Fill { from, to, width }) => {
            found.push(InstOrEdit::Edit(EditKind::Fill { from: next(from), to, width }));
            found.push(InstOrEdit::Edit(EditKind::Fill { from, to: other(to, isa), width }));
        }
        InstOrEdit::Edit(_) => {}
    }
    found.retain(|wrong| wrong != item);
    found
}

/// Returns `true` if an item changes something that is read later.
fn is_needed(code: &Code, allocated: &AllocatedCode, index: usize, isa: &dyn Isa) -> bool {
    let mut allocated = allocated.clone();
    let InstOrEdit::Edit(_) = allocated.list[index] else { return true };
    let reg = isa.env().class(RegClass::Int).allocatable().iter().next().expect("a register");
    allocated.list[index] = InstOrEdit::Edit(EditKind::Move { from: reg, to: reg, width: 8 });
    fault(code, &allocated, isa).is_some()
}

/// Returns `true` if an instruction reads the flags.
fn reads_flags(allocated: &AllocatedCode, isa: &dyn Isa) -> bool {
    allocated.list.iter().any(|item| match item {
        InstOrEdit::Inst(placed) => isa.rows()[usize::from(placed.inst.row.0)].flags.reads(),
        InstOrEdit::Edit(_) => false,
    })
}

#[test]
fn a_fault_in_a_step_alone_is_found() {
    for target in ["x86_64", "aarch64"] {
        let triple = format!("{target}-unknown-linux-gnu").parse().expect("a triple");
        let settings = Settings::default();
        let compiler = Compiler::new(&triple, settings.clone(), &[]).expect("a target");
        let isa = compiler.isa();
        let (mut planted, mut missed) = (0, Vec::new());
        for func in &kingpost_reader::parse_functions(SERVED).expect("well-formed") {
            let (mut lowering, mut fused, mut code) = (LowerState::default(), Fused::default(), Code::default());
            fused.begin(true);
            lowering
                .run_into(func, &mut Analyses::default(), isa, &settings, &mut code, &mut fused)
                .expect("it lowers");
            let allocated = fused.allocated_code().expect("it is served");
            assert_eq!(fault(&code, allocated, isa), None, "{target}: {func}");
            let mut plant = |change: &dyn Fn(&mut AllocatedCode), what: String| {
                let mut allocated = allocated.clone();
                change(&mut allocated);
                planted += 1;
                if fault(&code, &allocated, isa).is_none() {
                    missed.push(format!("{}: {what}", func.name));
                }
            };
            let slots = allocated.slots.len() as u32;
            for (index, item) in allocated.list.iter().enumerate() {
                let changes = wrong(item, slots, isa);
                for wrong in changes.into_iter().filter(|_| is_needed(&code, allocated, index, isa)) {
                    plant(&|allocated| allocated.list[index] = wrong, format!("item {index}, {item:?}: {wrong:?}"));
                }
                // Two edits may run in any order if neither reads what the other writes.
                let before = allocated.list.get(index + 1).filter(|before| *before != item);
                if let Some(before) = before
                    .filter(|before| matches!((item, before), (InstOrEdit::Inst(_), _) | (_, InstOrEdit::Inst(_))))
                {
                    plant(
                        &|allocated| allocated.list.swap(index, index + 1),
                        format!("item {index}, {item:?} and {before:?}"),
                    );
                }
            }
            for (index, item) in allocated.heads.iter().enumerate() {
                for wrong in wrong(item, slots, isa) {
                    plant(&|allocated| allocated.heads[index] = wrong, format!("item {index} of heads: {wrong:?}"));
                }
            }
            for reg in allocated.written.intersection(isa.env().callee_saved()).iter() {
                plant(&|allocated| allocated.written.remove(reg), format!("{reg} is not saved"));
            }
            let flags = |allocated: &mut AllocatedCode| {
                for item in &mut allocated.list {
                    if let InstOrEdit::Inst(placed) = item {
                        placed.flags_are_dead = true;
                    }
                }
            };
            if reads_flags(allocated, isa) {
                plant(&flags, "flags are dead everywhere".into());
            }
        }
        assert!(planted > 400, "{target}: {planted} faults");
        assert!(
            missed.is_empty(),
            "{target}: {} of {planted} faults are not found:\n{}",
            missed.len(),
            missed.join("\n")
        );
    }
}

#[test]
fn the_checker_sees_all_functions() {
    for target in ["x86_64", "aarch64"] {
        let (allocated, stats) = compile(SERVED, target, None, Options::default());
        assert_eq!((stats.functions, stats.unfused), (3, 0), "{target}");
        assert_eq!(compile(SERVED, target, Some("verify_each"), Options::default()).0, allocated, "{target}");
    }
}

#[test]
fn what_is_beyond_it_is_counted() {
    for target in ["x86_64", "aarch64"] {
        assert_eq!(compile(LEFT, target, Some("verify_each"), Options::default()).1.unfused, 1, "{target}");
        assert_eq!(compile(SERVED, target, Some("debug_values"), Options::default()).1.unfused, 0, "{target}");
    }
}
