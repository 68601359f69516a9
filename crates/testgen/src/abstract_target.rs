//! Functions on an abstract machine with any number of registers and with all kinds of constraints of real
//! machines.
//!
//! | instruction | constraints |
//! |---|---|
//! | addition | none; a constant on the right is part of the instruction |
//! | other arithmetic | the result has the location of the first input; constants as above |
//! | shifts | the amount is in `r1` |
//! | division | first input and quotient in `r0`, remainder in `r2`; the register without a result is lost |
//! | high half of a product | inputs `r0` and any, result in `r2`, `r0` lost |
//! | comparison | the result is in one of the first four registers |
//! | constants | may be rematerialized |
//! | call, return, entry | up to six integers in `r0` to `r5`, up to eight floats from `f0`, other values in memory of the convention; a call clobbers all registers |

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use kingpost_ir::analyses::Analyses;
use kingpost_ir::{Block as IrBlock, Function, Inst, Opcode, Type, Value, ValueDef};
use kingpost_mach::block_order::{self, BlockOrder, MachineBlock};
use kingpost_regalloc::{
    Block, ClobberId, Clobbers, Constraint, InstFlags, Kind, MachineEnv, Operand, PReg, PRegSet, Pos, Problem,
    RegClass, RegSetId, VReg,
};

/// Returns the problem of allocating registers of `env` for `func`. `refs` are the references among its values;
/// with references, every call is a safepoint.
pub fn problem(func: &Function, env: &MachineEnv, refs: &[Value]) -> Problem {
    let mut analyses = Analyses::default();
    analyses.update(func);
    let mut order = BlockOrder::default();
    order.compute(func, &analyses);
    let mut p = Problem::default();
    p.name = func.name.to_string().trim_start_matches('%').to_string();
    let everything = p.intern_clobbers(Clobbers::lost(env.allocatable()));
    let few = p.intern_reg_set(env.classes[0].order.iter().take(4).copied().collect());
    let vregs = SecondaryMap::new();
    let mut target = AbstractTarget { func, env, refs, p, vregs, folded: folded(func), everything, few };
    for (machine, &block) in order.blocks().iter().enumerate() {
        target.block(&order, Block::from_u32(machine as u32), block);
    }
    for (machine, &block) in order.blocks().iter().enumerate() {
        target.edges(&analyses, &order, Block::from_u32(machine as u32), block);
    }
    target.p.finish();
    target.p
}

/// Returns the constants that are only used inside instructions.
fn folded(func: &Function) -> SecondaryMap<Value, bool> {
    let mut outside: SecondaryMap<Value, u32> = SecondaryMap::new();
    let mut folded: SecondaryMap<Value, bool> = SecondaryMap::new();
    for inst in func.layout.blocks().flat_map(|block| func.layout.block_insts(block)) {
        func.dfg.for_each_use(inst, |value| outside[func.dfg.resolve_aliases(value)] += 1);
        if let Some(value) = immediate(func, inst) {
            outside[value] -= 1;
            folded[value] = true;
        }
    }
    for value in outside.keys() {
        folded[value] &= outside[value] == 0;
    }
    folded
}

/// Returns the constant that an instruction could hold itself.
fn immediate(func: &Function, inst: Inst) -> Option<Value> {
    use Opcode::{Band, Bor, Bxor, Iadd, Icmp, Imul, Isub};
    let takes_one = matches!(func.dfg.opcode(inst), Iadd | Isub | Imul | Band | Bor | Bxor | Icmp);
    let value = func.dfg.resolve_aliases(*func.dfg.inst_args(inst).get(1).filter(|_| takes_one)?);
    match func.dfg.value_def(value) {
        ValueDef::Result(def, _) if func.dfg.opcode(def) == Opcode::Iconst => Some(value),
        _ => None,
    }
}

struct AbstractTarget<'a> {
    func: &'a Function,
    env: &'a MachineEnv,
    refs: &'a [Value],
    p: Problem,
    vregs: SecondaryMap<Value, PackedOption<VReg>>,
    folded: SecondaryMap<Value, bool>,
    everything: ClobberId,
    few: RegSetId,
}

fn class(ty: Type) -> RegClass {
    if ty.is_int() { RegClass::Int } else { RegClass::Float }
}

impl AbstractTarget<'_> {
    fn vreg(&mut self, value: Value) -> VReg {
        let value = self.func.dfg.resolve_aliases(value);
        if let Some(vreg) = self.vregs[value].expand() {
            return vreg;
        }
        let ty = self.func.dfg.value_type(value);
        let vreg = self.p.add_vreg(class(ty), ty.bytes() as u8, self.refs.contains(&value));
        self.vregs[value] = vreg.into();
        vreg
    }

    fn vregs(&mut self, values: &[Value]) -> Vec<VReg> {
        values.iter().map(|&value| self.vreg(value)).collect()
    }

    fn push(&mut self, operands: &[Operand], flags: InstFlags, clobbers: ClobberId) {
        operands.iter().for_each(|&operand| self.p.push_operand(operand));
        self.p.push_inst(flags, clobbers);
    }

    fn plain(&mut self, operands: &[Operand]) {
        self.push(operands, InstFlags::NONE, ClobberId::NONE);
    }

    fn block(&mut self, order: &BlockOrder, machine: Block, block: MachineBlock) {
        let MachineBlock::Ir(block) = block else {
            self.p.begin_block(order.freq(machine), &[]);
            return self.push(&[], InstFlags::BRANCH, ClobberId::NONE);
        };
        let params = self.vregs(self.func.dfg.block_params(block));
        if machine.as_u32() == 0 {
            self.p.begin_block(order.freq(machine), &[]);
            self.arrive(&params, ClobberId::NONE, &[], InstFlags::NONE);
        } else {
            self.p.begin_block(order.freq(machine), &params);
        }
        for inst in self.func.layout.block_insts(block) {
            self.inst(inst);
        }
    }

    fn edges(&mut self, analyses: &Analyses, order: &BlockOrder, machine: Block, block: MachineBlock) {
        let (func, from) = match block {
            MachineBlock::Ir(block) | MachineBlock::Edge { from: block, .. } => (self.func, block),
        };
        let Some(branch) = func.layout.last_inst(from) else { return };
        let destinations = func.dfg.branch_destinations(branch);
        let args = |edge: usize| -> Vec<Value> {
            func.dfg.block_args(destinations[edge]).iter().filter_map(|arg| arg.value()).collect()
        };
        let targets = order.targets(from, destinations.len());
        let same_as = order.same_as(from, destinations.len());
        let single = targets.iter().all(|&target| target == targets[0]);
        let edges: Vec<(usize, Block, bool)> = match block {
            MachineBlock::Edge { edge, .. } => {
                let target = destinations[edge as usize].block;
                order.block_of(target).map(|to| (edge as usize, to, true)).into_iter().collect()
            }
            MachineBlock::Ir(_) => (0..targets.len())
                .filter(|&edge| same_as[edge] as usize == edge)
                .map(|edge| (edge, targets[edge], single))
                .collect(),
        };
        for (edge, to, passes) in edges {
            let args = if passes { self.vregs(&args(edge)) } else { Vec::new() };
            self.p.add_edge(machine, to, edge_freq(analyses, order, machine, from, edge), &args, &[]);
        }
    }

    fn inst(&mut self, inst: Inst) {
        let dfg = &self.func.dfg;
        let (opcode, args) = (dfg.opcode(inst), dfg.inst_args(inst).to_vec());
        let results = dfg.inst_results(inst).to_vec();
        match opcode {
            Opcode::Iconst | Opcode::F32const | Opcode::F64const => {
                if !self.folded[results[0]] {
                    let def = Operand::reg_def(self.vreg(results[0]));
                    self.push(&[def], InstFlags::REMAT, ClobberId::NONE);
                }
            }
            Opcode::Ishl | Opcode::Ushr | Opcode::Sshr | Opcode::Rotl | Opcode::Rotr => {
                let [x, amount, def] = [args[0], args[1], results[0]].map(|value| self.vreg(value));
                self.plain(&[
                    Operand::reg_use(x),
                    Operand::fixed_use(amount, PReg::int(1)),
                    Operand::reuse_def(def, 0),
                ]);
            }
            Opcode::Sdiv | Opcode::Udiv => self.through(&args, results[0], 0, 2),
            Opcode::Srem | Opcode::Urem | Opcode::Smulhi | Opcode::Umulhi => self.through(&args, results[0], 2, 0),
            Opcode::Icmp | Opcode::Fcmp => {
                let mut operands = self.inputs(inst);
                let def = self.vreg(results[0]);
                operands.push(Operand::new(def, Kind::Def, Pos::Late, Constraint::Within(self.few)));
                self.plain(&operands);
            }
            Opcode::Bitcast if class(dfg.value_type(args[0])) == class(dfg.value_type(results[0])) => {
                let [source, copy] = [args[0], results[0]].map(|value| self.vreg(value));
                self.push(&[Operand::reg_use(source), Operand::reg_def(copy)], InstFlags::MOVE, ClobberId::NONE);
            }
            Opcode::Call | Opcode::CallIndirect => self.call(opcode, &args, &results),
            Opcode::Return => {
                let uses = self.leave(&args);
                self.push(&uses, InstFlags::BRANCH, ClobberId::NONE);
            }
            _ if opcode.is_terminator() => {
                let uses = self.inputs(inst);
                self.push(&uses, InstFlags::BRANCH, ClobberId::NONE);
            }
            _ => {
                let mut operands = self.inputs(inst);
                let reuses = match dfg.opcode(inst) {
                    Opcode::Select => Some(1),
                    Opcode::Iadd | Opcode::Fadd => None,
                    _ if args.len() == 2 && !results.is_empty() => Some(0),
                    _ => None,
                };
                for (k, &result) in results.iter().enumerate() {
                    let def = self.vreg(result);
                    let reuse = reuses.filter(|&arg| k == 0 && same_class(self.func, args[arg], result));
                    operands.push(reuse.map_or(Operand::reg_def(def), |arg| Operand::reuse_def(def, arg as u8)));
                }
                self.plain(&operands);
            }
        }
    }

    /// Returns uses in any register, without a constant inside the instruction.
    fn inputs(&mut self, inst: Inst) -> Vec<Operand> {
        let args = self.func.dfg.inst_args(inst).to_vec();
        let inside = immediate(self.func, inst).is_some();
        let args = &args[..if inside { 1 } else { args.len() }];
        args.iter().map(|&arg| Operand::reg_use(self.vreg(arg))).collect()
    }

    /// Adds an instruction from `r0` and another register to `result`; `lost` is overwritten.
    fn through(&mut self, args: &[Value], value: Value, result: u8, lost: u8) {
        let [x, y, def] = [args[0], args[1], value].map(|value| self.vreg(value));
        let clobbers = self.p.intern_clobbers(Clobbers::lost([PReg::int(lost)].into_iter().collect()));
        let operands =
            [Operand::fixed_use(x, PReg::int(0)), Operand::late_use(y), Operand::fixed_def(def, PReg::int(result))];
        self.push(&operands, InstFlags::NONE, clobbers);
    }

    fn call(&mut self, opcode: Opcode, args: &[Value], results: &[Value]) {
        let indirect = usize::from(opcode == Opcode::CallIndirect);
        let mut operands = self.leave(&args[indirect..]);
        operands.extend(args[..indirect].iter().map(|&callee| Operand::mem_ok_use(self.vreg(callee))));
        let flags = if self.refs.is_empty() { InstFlags::NONE } else { InstFlags::SAFEPOINT };
        let results = self.vregs(results);
        self.arrive(&results, self.everything, &operands, flags);
    }

    /// Returns fixed uses for values that leave the function in registers, and adds stores for the others.
    fn leave(&mut self, values: &[Value]) -> Vec<Operand> {
        let mut places = Places::new(self.env);
        let mut uses = Vec::new();
        for vreg in self.vregs(values) {
            match places.next(self.p.class(vreg)) {
                Some(reg) => uses.push(Operand::fixed_use(vreg, reg)),
                None => self.plain(&[Operand::reg_use(vreg)]),
            }
        }
        uses
    }

    /// Adds an instruction after which values have arrived from outside: in registers, or loaded after it. The load
    /// may run again, because memory outside keeps its value.
    fn arrive(&mut self, vregs: &[VReg], clobbers: ClobberId, uses: &[Operand], flags: InstFlags) {
        let mut places = Places::new(self.env);
        let found: Vec<_> = vregs.iter().map(|&vreg| places.next(self.p.class(vreg))).collect();
        let defs = vregs.iter().zip(&found).filter_map(|(&vreg, &reg)| Some((vreg, reg?)));
        let taken: PRegSet = defs.clone().map(|(_, reg)| reg).collect();
        let operands: Vec<Operand> =
            uses.iter().copied().chain(defs.map(|(vreg, reg)| Operand::fixed_def(vreg, reg))).collect();
        let lost = self.p.all_clobbers()[clobbers].lost.difference(taken);
        let clobbers = self.p.intern_clobbers(Clobbers::lost(lost));
        self.push(&operands, flags, clobbers);
        for (&vreg, reg) in vregs.iter().zip(&found) {
            if reg.is_none() {
                self.push(&[Operand::reg_def(vreg)], InstFlags::REMAT, ClobberId::NONE);
            }
        }
    }
}

fn same_class(func: &Function, a: Value, b: Value) -> bool {
    class(func.dfg.value_type(a)) == class(func.dfg.value_type(b))
}

fn edge_freq(
    analyses: &Analyses,
    order: &BlockOrder,
    machine: Block,
    from: IrBlock,
    edge: usize,
) -> kingpost_regalloc::Freq {
    if order.block_of(from) == Some(machine) {
        block_order::edge_freq(analyses, from, edge)
    } else {
        order.freq(machine)
    }
}

/// Registers of the calling convention, in order.
struct Places<'a> {
    env: &'a MachineEnv,
    next: [usize; 2],
}

impl<'a> Places<'a> {
    fn new(env: &'a MachineEnv) -> Places<'a> {
        Places { env, next: [0, 0] }
    }

    fn next(&mut self, class: RegClass) -> Option<PReg> {
        let limit = [6, 8][class.index()];
        let next = &mut self.next[class.index()];
        *next += 1;
        self.env.class(class).order.iter().take(limit).nth(*next - 1).copied()
    }
}
