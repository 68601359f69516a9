use super::*;
use crate::inst_view::InstView;
use crate::instruction::{BlockArg, BlockArgKind};
use crate::memflags::MemFlags;
use crate::signature::{AbiParam, CallConv};
use crate::testing::Random;
use crate::types::{I8, I32, I64};
use crate::value_data::ValueDef;

fn constant(dfg: &mut DataFlowGraph) -> Value {
    let inst = dfg.make_inst(InstData::iconst(I32, 7));
    dfg.append_result(inst, I32)
}

#[test]
fn aliases_have_no_cycles() {
    let mut dfg = DataFlowGraph::default();
    let value = constant(&mut dfg);
    let names: Vec<Value> = (0..4).map(|_| dfg.make_undefined_value()).collect();
    dfg.change_to_alias(names[0], value).unwrap();
    dfg.change_to_alias(names[1], names[0]).unwrap();
    assert_eq!(dfg.value_alias(names[1]), Some(names[0]));
    assert_eq!(dfg.resolve_aliases(names[1]), value);
    assert_eq!(dfg.value_type(names[1]), I32);
    assert_eq!(dfg.value_def(names[1]), dfg.value_def(value));
    assert_eq!(dfg.change_to_alias(value, names[1]), Err(AliasCycle { value }));
    assert!(dfg.change_to_alias(names[2], names[2]).is_err());
    assert!(dfg.is_undefined(names[2]) && !dfg.is_undefined(names[1]));
}

/// Checks that random links which would close a cycle are refused, and that all other links are followed.
#[test]
fn random_links_close_no_ring() {
    let mut random = Random::new(3);
    for _ in 0..300 {
        let mut dfg = DataFlowGraph::default();
        let values: Vec<Value> = (0..2 + random.below(30)).map(|_| constant(&mut dfg)).collect();
        let mut next: Vec<Option<usize>> = vec![None; values.len()];
        let end =
            |next: &[Option<usize>], from| std::iter::successors(Some(from), |&at: &usize| next[at]).last().unwrap();
        for from in 0..values.len() {
            let to = random.below(values.len());
            let closes = end(&next, to) == from;
            assert_eq!(dfg.change_to_alias(values[from], values[to]).is_err(), closes);
            if !closes {
                next[from] = Some(to);
            }
        }
        for compressed in [false, true] {
            if compressed {
                dfg.compress_aliases();
            }
            for from in 0..values.len() {
                assert_eq!(dfg.resolve_aliases(values[from]), values[end(&next, from)], "{from} in {next:?}");
            }
        }
    }
}

#[test]
fn long_alias_chains_are_compressed() {
    let mut dfg = DataFlowGraph::default();
    let value = constant(&mut dfg);
    // Each value becomes an alias of the next one, so that links do not lead to the root directly.
    let mut last = dfg.make_undefined_value();
    let user = dfg.make_inst(InstData::binary(Opcode::Iadd, I32, [last, value]));
    for _ in 0..100_000 {
        let next = dfg.make_undefined_value();
        dfg.change_to_alias(last, next).unwrap();
        last = next;
    }
    dfg.change_to_alias(last, value).unwrap();
    dfg.resolve_all_aliases();
    assert_eq!(dfg.inst_args(user), [value, value]);
}

#[test]
fn results_and_parameters_grow() {
    let mut dfg = DataFlowGraph::default();
    let mut random = Random::new(3);
    let insts: Vec<Inst> = (0..4).map(|_| dfg.make_inst(InstData::nullary(Opcode::Nop, types::INVALID))).collect();
    let blocks: Vec<Block> = (0..3).map(|_| dfg.make_block()).collect();
    for _ in 0..200 {
        dfg.append_result(insts[random.below(4)], I8);
        dfg.append_block_param(blocks[random.below(3)], I64);
    }
    for &inst in &insts {
        for (number, &value) in dfg.inst_results(inst).iter().enumerate() {
            assert_eq!(dfg.value_def(value), ValueDef::Result(inst, number as u32));
        }
    }
    let removed = dfg.block_params(blocks[0])[1];
    dfg.remove_block_param(blocks[0], 1);
    assert!(dfg.is_undefined(removed));
    for (number, &value) in dfg.block_params(blocks[0]).iter().enumerate() {
        assert_eq!(dfg.value_def(value), ValueDef::Param(blocks[0], number as u32));
    }
    dfg.clear_results(insts[0]);
    assert_eq!(dfg.inst_results(insts[0]), []);
}

#[test]
fn stores_keep_all_their_parts() {
    let mut dfg = DataFlowGraph::default();
    let (value, addr) = (Value(u32::MAX - 1), Value(5));
    let region = crate::entities::AliasRegion(2046);
    let flags = MemFlags::trusted().with_readonly().with_alias_region(Some(region)).unwrap();
    let inst = dfg.make_inst(InstData::store(Opcode::Istore8, flags, value, addr, i32::MIN));
    let InstView::Store { flags: got, value: v, addr: a, offset } = dfg.view(inst) else { panic!("no store") };
    assert_eq!((got, v, a, offset), (flags, value, addr, i32::MIN));
    dfg.set_memflags(inst, MemFlags::new());
    assert_eq!(dfg.inst(inst).memflags(), Some(MemFlags::new()));
    assert_eq!(dfg.inst_args(inst), [value, addr]);
}

#[test]
fn try_calls() {
    let mut dfg = DataFlowGraph::default();
    let sig = dfg.signatures.push(Signature::new(CallConv::Tail));
    dfg.signatures[sig].returns.push(AbiParam::new(I64));
    let value = constant(&mut dfg);
    let blocks: Vec<Block> = (0..3).map(|_| dfg.make_block()).collect();
    let ret = BlockArg::new(BlockArgKind::TryCallRet(0));
    let exn = BlockArg::new(BlockArgKind::TryCallExn(1));
    let normal = dfg.block_call(blocks[0], &[ret, value.into()]);
    let handlers = [dfg.block_call(blocks[1], &[exn]), dfg.block_call(blocks[2], &[])];
    let items = [ExceptionItem::Tag(4), ExceptionItem::Context(value), ExceptionItem::Default];
    let table = dfg.make_exception_table(sig, normal, &items, &handlers);
    let data = dfg.try_call_indirect_data(value, &[value], table);
    let inst = dfg.make_inst(data);
    let dests: Vec<Block> = dfg.branch_destinations(inst).iter().map(|call| call.block).collect();
    assert_eq!(dests, [blocks[1], blocks[2], blocks[0]]);
    assert_eq!(dfg.call_signature(inst), Some(sig));
    assert_eq!((dfg.result_count(inst), dfg.result_type(inst, 0, I64)), (0, None));
    let mut uses = 0;
    dfg.for_each_use(inst, |used| uses += u32::from(used == value));
    assert_eq!(uses, 4);
    let other = constant(&mut dfg);
    dfg.map_values(inst, |_| other);
    let normal = dfg.exception_table(table).normal;
    assert_eq!(dfg.block_args(normal), [ret, other.into()]);
    assert_eq!(dfg.exception_table(table).items[1], ExceptionItem::Context(other));
    dfg.append_block_arg(inst, 0, other.into());
    dfg.remove_block_arg(inst, 0, 0);
    assert_eq!(dfg.block_args(dfg.branch_destinations(inst)[0]), [other.into()]);
    dfg.set_destination(inst, 2, blocks[1]);
    assert_eq!(dfg.exception_table(table).normal.block, blocks[1]);
}
