//! Cycles that are no structured loops: cycles with several entries, and endless cycles, which are never entered.

use super::plan::random_word;
use super::scope::Scope;
use kingpost_ir::builder::{ControlBuilder, InstBuilder};
use kingpost_ir::types::{I32, INVALID};
use kingpost_ir::{Block, BlockCall, Type, Value};

impl Scope<'_> {
    /// Adds a cycle of blocks. Each block may be the first, continues at any of them, counts down, and leaves the
    /// cycle at zero.
    pub(super) fn cycle(&mut self, depth: usize) {
        let counter_type = random_word(self.rng);
        let (types, exit_types) = (self.types(), self.types());
        let exit = self.func.dfg.make_block();
        let exit_params = self.append_params(exit, &exit_types);
        let blocks: Vec<Block> = (0..self.rng.range(2..4)).map(|_| self.func.dfg.make_block()).collect();
        let mut params = Vec::new();
        for &block in &blocks {
            let counter = self.func.dfg.append_block_param(block, counter_type);
            params.push((counter, self.append_params(block, &types)));
        }
        let trips = self.masked(counter_type, 7);
        self.enter_at_any(&blocks, trips, &types);
        let known = self.pool.len();
        self.loops += 1;
        for (&block, (counter, params)) in blocks.iter().zip(params) {
            self.func.layout.append_block(block);
            self.block = block;
            self.pool.extend(params);
            self.statements(depth + 1);
            let one = self.pinned_const(counter_type, 1);
            let next = self.ins().isub(counter, one);
            self.pin(next);
            let number = self.rng.range(0..blocks.len());
            let on = self.edge_with(blocks[number], next, &types);
            let out = self.edge(exit, &exit_types);
            let data = self.func.dfg.brif_data(counter, on, out);
            self.ins().insert(data, INVALID);
            self.pool.truncate(known);
        }
        self.loops -= 1;
        self.enter(exit, &exit_params);
    }

    /// Adds a branch to each of the blocks, chosen by a value.
    fn enter_at_any(&mut self, blocks: &[Block], trips: Value, types: &[Type]) {
        let calls: Vec<BlockCall> = blocks.iter().map(|&block| self.edge_with(block, trips, types)).collect();
        if let [a, b] = calls[..] {
            let condition = self.condition();
            let data = self.func.dfg.brif_data(condition, a, b);
            self.ins().insert(data, INVALID);
        } else {
            let index = self.masked(I32, 3);
            let table = self.func.dfg.make_jump_table(calls[0], &calls[1..]);
            self.ins().br_table(index, table);
        }
    }

    /// Returns an edge to a block, with `first` before values of these types.
    fn edge_with(&mut self, block: Block, first: Value, types: &[Type]) -> BlockCall {
        let mut args = vec![first];
        args.extend(types.iter().map(|&ty| self.pick(ty)));
        self.func.dfg.block_call_with_values(block, &args)
    }

    /// Adds blocks that run forever, after branches that are never taken, or unreachable ones.
    pub(super) fn endless(&mut self) {
        let types: Vec<Type> = (0..self.rng.range(0..3)).map(|_| self.any_type()).collect();
        let ring: Vec<Block> = (0..self.rng.range(1..6)).map(|_| self.func.dfg.make_block()).collect();
        let params: Vec<Vec<Value>> = ring.iter().map(|&block| self.append_params(block, &types)).collect();
        let known = self.pool.len();
        for _ in 0..self.rng.range(0..3) {
            let never = self.hidden_zero(I32);
            let (inside, on) = (self.edge_into(&ring, &types), self.new_block());
            let on_call = self.func.dfg.block_call_with_values(on, &[]);
            let data = self.func.dfg.brif_data(never, inside, on_call);
            self.ins().insert(data, INVALID);
            self.block = on;
            // Definitions of this block do not dominate the cycle if it is entered before.
            self.pool.truncate(known);
        }
        let on = self.block;
        for (&block, params) in ring.iter().zip(params) {
            self.func.layout.append_block(block);
            if self.rng.chance(30) {
                self.func.layout.set_cold(block);
            }
            self.block = block;
            self.pool.extend(params);
            if self.rng.chance(15) {
                self.scalar();
            }
            self.go_round(&ring, &types);
            self.pool.truncate(known);
        }
        self.block = on;
    }

    /// Ends a block of a cycle.
    fn go_round(&mut self, ring: &[Block], types: &[Type]) {
        match self.rng.range(0..10) {
            0..7 => {
                let edge = self.edge_into(ring, types);
                let data = self.func.dfg.jump_data(edge);
                self.ins().insert(data, INVALID);
            }
            7 | 8 => {
                let condition = self.condition();
                let (then, otherwise) = (self.edge_into(ring, types), self.edge_into(ring, types));
                let data = self.func.dfg.brif_data(condition, then, otherwise);
                self.ins().insert(data, INVALID);
            }
            _ => {
                let index = self.pick(I32);
                let default = self.edge_into(ring, types);
                let entries: Vec<BlockCall> = (0..self.rng.range(0..4)).map(|_| self.edge_into(ring, types)).collect();
                let table = self.func.dfg.make_jump_table(default, &entries);
                self.ins().br_table(index, table);
            }
        }
    }

    fn edge_into(&mut self, ring: &[Block], types: &[Type]) -> BlockCall {
        let block = ring[self.rng.range(0..ring.len())];
        self.edge(block, types)
    }
}
