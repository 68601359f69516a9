//! The types at which a rule holds: all types that its opcodes allow.

use super::ast::{Bound, ClifRule, Node, NodeKind, TypeName};
use crate::ast::{Expr, ExprId, ExprKind, Precondition};
use crate::error::{ErrorKind, RuleError};
use crate::vocabulary::{Function, Predicate};
use kingpost_ir::type_class::Constraint;
use kingpost_ir::types::{
    F16, F32, F32X4, F64, F64X2, F128, I8, I8X8, I8X16, I16, I16X4, I16X8, I32, I32X2, I32X4, I64, I64X2, I128,
};
use kingpost_ir::{Opcode, Type};
use std::collections::HashMap;

const INTS: [Type; 5] = [I8, I16, I32, I64, I128];
const VECTORS: [Type; 4] = [I8X16, I16X8, I32X4, I64X2];
const FLOATS: [Type; 4] = [F16, F32, F64, F128];
const FLOAT_VECTORS: [Type; 2] = [F32X4, F64X2];
/// One type of every supported kind.
pub(super) const ALL: [Type; 18] =
    [I8, I16, I32, I64, I128, F16, F32, F64, F128, I8X16, I16X8, I32X4, I64X2, I8X8, I16X4, I32X2, F32X4, F64X2];
/// Maximum number of combinations of types.
const MAX_TYPINGS: usize = 2000;

/// An unknown type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Var(usize);

/// One assignment of types.
#[derive(Clone, PartialEq, Debug)]
pub struct ClifTyping {
    pub(super) nodes: Vec<Type>,
    pub(super) controls: Vec<Type>,
    pub(super) exprs: Vec<Type>,
}

impl ClifTyping {
    /// Returns the type of a node.
    pub fn of(&self, node: &Node) -> Type {
        self.nodes[node.id as usize]
    }

    /// Returns the controlling type of an instruction.
    pub fn control(&self, node: &Node) -> Type {
        self.controls[node.id as usize]
    }

    /// Returns the widths of constant expressions in bits, by their numbers; for a vector, the width of a lane.
    pub fn expr_widths(&self) -> Vec<u32> {
        self.exprs.iter().map(|ty| ty.lane_bits()).collect()
    }

    /// Returns this assignment with each vector replaced by its lane.
    pub fn of_one_lane(&self) -> ClifTyping {
        let lanes = |types: &[Type]| types.iter().map(|ty| ty.lane_type()).collect();
        ClifTyping { nodes: lanes(&self.nodes), controls: lanes(&self.controls), exprs: lanes(&self.exprs) }
    }
}

/// Returns all assignments of types that satisfy a rule, small types first.
///
/// # Errors
/// If there is no assignment, or there are too many.
pub fn typings(rule: &ClifRule) -> Result<Vec<ClifTyping>, RuleError> {
    let mut all = Constraints::default();
    all.nodes = (0..rule.nodes).map(|_| all.fresh()).collect();
    all.controls = (0..rule.nodes).map(|_| all.fresh()).collect();
    all.exprs = (0..rule.exprs).map(|_| all.fresh()).collect();
    for node in rule.all_nodes() {
        all.node(node);
    }
    let (source, target) = (all.nodes[rule.source.id as usize], all.nodes[rule.target.id as usize]);
    let has_result = rule.effect().is_none_or(|opcode| !opcode.info().results.is_empty());
    if !rule.is_condition && has_result {
        all.unify(source, target);
    }
    all.precondition(&rule.precondition);
    for bound in &rule.bounds {
        match bound {
            Bound::Narrower(a, b) => {
                let (a, b) = (all.type_name(a), all.type_name(b));
                all.narrower.push((a, b));
            }
            Bound::OneOf(name, types) => {
                let var = all.named(format!("type {name}"));
                all.allowed.push((var, types.clone()));
            }
            Bound::Lanes | Bound::Any | Bound::Conditions(..) => {}
        }
    }
    all.solve(rule)
}

#[derive(Default)]
struct Constraints {
    parents: Vec<usize>,
    nodes: Vec<Var>,
    controls: Vec<Var>,
    exprs: Vec<Var>,
    names: HashMap<String, Var>,
    /// Controlling type, and the type that is constrained by it.
    relations: Vec<(Var, Var, Constraint)>,
    allowed: Vec<(Var, Vec<Type>)>,
    narrower: Vec<(Var, Var)>,
    /// Operand and result of a cast.
    casts: Vec<(Var, Var)>,
    literals: Vec<(Var, i128)>,
    /// Variables of values, constants and instructions, which take every type.
    free: Vec<Var>,
}

impl Constraints {
    fn fresh(&mut self) -> Var {
        self.parents.push(self.parents.len());
        Var(self.parents.len() - 1)
    }

    /// Returns the least of the variables that are equal to `var`. Terminates because links lead to lesser
    /// variables.
    fn root(&self, mut var: Var) -> Var {
        while self.parents[var.0] != var.0 {
            var = Var(self.parents[var.0]);
        }
        var
    }

    fn unify(&mut self, a: Var, b: Var) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.0.max(b.0)] = a.0.min(b.0);
    }

    fn named(&mut self, name: String) -> Var {
        if let Some(&var) = self.names.get(&name) {
            return var;
        }
        let var = self.fresh();
        self.names.insert(name, var);
        var
    }

    fn type_name(&mut self, name: &TypeName) -> Var {
        match name {
            TypeName::Named(name) => self.named(format!("type {name}")),
            TypeName::Fixed(ty) => {
                let var = self.fresh();
                self.allowed.push((var, vec![*ty]));
                var
            }
        }
    }

    fn node(&mut self, node: &Node) {
        let var = self.nodes[node.id as usize];
        let mut stated = var;
        match &node.kind {
            NodeKind::Edge(_) => {}
            NodeKind::Offset(expr) => {
                let expr = self.expr(expr);
                self.unify(var, expr);
            }
            NodeKind::Value(name) => {
                self.free.push(var);
                let named = self.named(format!("value {name}"));
                self.unify(named, var);
            }
            NodeKind::Constant(expr) => {
                self.free.push(var);
                let expr = self.expr(expr);
                self.unify(var, expr);
            }
            NodeKind::Inst { opcode, operands, .. } => {
                let info = opcode.info();
                let control = self.controls[node.id as usize];
                if opcode.is_polymorphic() {
                    stated = control;
                    self.free.push(control);
                    self.allowed.push((control, info.class.set().iter().filter(|ty| ty.bits() <= 128).collect()));
                }
                if !info.results.is_empty() {
                    self.free.push(var);
                }
                let places = operands.iter().map(|operand| self.nodes[operand.id as usize]).zip(info.operands);
                let places: Vec<(Var, &Constraint)> =
                    places.chain(info.results.first().map(|result| (var, result))).collect();
                // An offset is as wide as the address, which is the last value operand.
                if let Some(offset) = operands.iter().find(|operand| matches!(operand.kind, NodeKind::Offset(_)))
                    && let Some(&(address, _)) = places.get(info.operands.len() - 1)
                {
                    self.unify(self.nodes[offset.id as usize], address);
                }
                if *opcode == Opcode::Bitcast {
                    self.casts.push((places[0].0, var));
                }
                for (place, constraint) in places {
                    match constraint {
                        Constraint::Same => self.unify(place, control),
                        other => self.relations.push((control, place, *other)),
                    }
                }
            }
        }
        if let Some(name) = &node.name {
            let named = self.named(format!("value {name}"));
            self.unify(named, var);
        }
        if let Some(name) = &node.ty {
            let ty = self.type_name(name);
            self.unify(ty, stated);
        }
    }

    fn expr(&mut self, expr: &Expr) -> Var {
        let ExprId(id) = expr.id;
        let var = self.exprs[id as usize];
        match &expr.kind {
            ExprKind::Register(name) => {
                let named = self.named(format!("value {name}"));
                self.unify(var, named);
            }
            ExprKind::Constant(name) => {
                let named = self.named(format!("constant {name}"));
                self.unify(var, named);
            }
            ExprKind::Literal(value) => self.literals.push((var, *value)),
            ExprKind::Bool(_) | ExprKind::Null | ExprKind::Undef => {}
            ExprKind::Unary(..) | ExprKind::Binary(..) => {
                for part in expr.parts() {
                    let part = self.expr(part);
                    self.unify(var, part);
                }
            }
            ExprKind::Call(function, args) => {
                for arg in args {
                    let arg = self.expr(arg);
                    match function {
                        Function::Trunc => self.narrower.push((var, arg)),
                        Function::Sext | Function::Zext => self.narrower.push((arg, var)),
                        Function::Width
                        | Function::Log2
                        | Function::CountLeadingZeros
                        | Function::CountTrailingZeros
                        | Function::ComputeNumSignBits => {}
                        _ => self.unify(var, arg),
                    }
                }
            }
        }
        var
    }

    fn precondition(&mut self, condition: &Precondition) {
        match condition {
            Precondition::True => {}
            Precondition::Not(inner) => self.precondition(inner),
            Precondition::All(parts) | Precondition::Any(parts) => {
                for part in parts {
                    self.precondition(part);
                }
            }
            Precondition::Predicate(_, Predicate::HasOneUse, args) => {
                self.expr(&args[0]);
            }
            Precondition::Compare(exprs, _) | Precondition::Predicate(_, _, exprs) => {
                let vars: Vec<Var> = exprs.iter().map(|expr| self.expr(expr)).collect();
                for pair in vars.windows(2) {
                    self.unify(pair[0], pair[1]);
                }
            }
        }
    }

    fn solve(&self, rule: &ClifRule) -> Result<Vec<ClifTyping>, RuleError> {
        let (lanes, any) = (rule.bounds.contains(&Bound::Lanes), rule.bounds.contains(&Bound::Any));
        let roots: Vec<Var> = (0..self.parents.len()).map(Var).filter(|&var| self.root(var) == var).collect();
        let free: Vec<Var> = self.free.iter().map(|&var| self.root(var)).collect();
        let mut found = Vec::new();
        let mut types: Vec<Option<Type>> = vec![None; self.parents.len()];
        let domains: Vec<(Var, Vec<Type>, bool)> = roots
            .iter()
            .map(|&root| {
                let is_free = free.contains(&root);
                (root, self.domain(root, lanes && is_free, any && is_free, is_free), is_free)
            })
            .collect();
        // Variables that take every type come first, so that each other variable needs only one type that fits.
        let (every, single): (Vec<_>, Vec<_>) = domains.into_iter().partition(|&(.., is_free)| is_free);
        let order: Vec<(Var, Vec<Type>, bool)> = every.into_iter().chain(single).collect();
        self.choose(&order, &mut types, &mut found);
        if found.is_empty() || found.len() > MAX_TYPINGS {
            let message =
                if found.is_empty() { "no types satisfy the rule" } else { "too many types satisfy the rule" };
            return Err(RuleError::new(ErrorKind::Type, rule.at, message));
        }
        found.sort_by_key(|typing| typing.nodes.iter().map(|ty| (ty.lane_count(), ty.bits())).max());
        Ok(found)
    }

    /// Returns the types that a variable may have.
    fn domain(&self, root: Var, lanes: bool, any: bool, is_free: bool) -> Vec<Type> {
        let allowed = |ty: &Type| {
            let sets = self.allowed.iter().filter(|(var, _)| self.root(*var) == root);
            let fits =
                |value: i128| value < 1 << ty.lane_bits().min(126) && value >= -(1 << (ty.lane_bits() - 1).min(126));
            let mut literals = self.literals.iter().filter(|(var, _)| self.root(*var) == root);
            sets.into_iter().all(|(_, types)| types.contains(ty)) && literals.all(|&(_, value)| fits(value))
        };
        if any {
            return ALL.into_iter().filter(allowed).collect();
        }
        let mut domain: Vec<Type> = INTS.into_iter().filter(allowed).collect();
        if !is_free {
            // One type is enough, preferably one that holds every number that a rule writes.
            domain.sort_by_key(|&ty| ty != I64);
        }
        if lanes {
            domain.extend(VECTORS.into_iter().filter(allowed));
        }
        if domain.is_empty() {
            domain.extend(FLOATS.into_iter().filter(allowed));
            domain.extend(FLOAT_VECTORS.into_iter().filter(|ty| lanes && allowed(ty)));
        }
        domain
    }

    fn choose(
        &self,
        order: &[(Var, Vec<Type>, bool)],
        types: &mut Vec<Option<Type>>,
        found: &mut Vec<ClifTyping>,
    ) -> bool {
        if found.len() > MAX_TYPINGS {
            return true;
        }
        let Some(((root, domain, is_free), rest)) = order.split_first() else {
            let of = |vars: &[Var]| vars.iter().map(|&var| types[self.root(var).0].unwrap_or(I64)).collect();
            found.push(ClifTyping { nodes: of(&self.nodes), controls: of(&self.controls), exprs: of(&self.exprs) });
            return true;
        };
        let mut any = false;
        for &ty in domain {
            types[root.0] = Some(ty);
            if self.holds(types) {
                any |= self.choose(rest, types, found);
                if any && !is_free {
                    break;
                }
            }
        }
        types[root.0] = None;
        any
    }

    /// Returns `true` if no relation between known types is violated.
    fn holds(&self, types: &[Option<Type>]) -> bool {
        let of = |var: Var| types[self.root(var).0];
        self.relations.iter().all(|&(control, place, constraint)| match (of(control), of(place)) {
            (Some(control), Some(place)) => constraint.resolve(control).contains(place),
            _ => true,
        }) && self.narrower.iter().all(|&(a, b)| match (of(a), of(b)) {
            (Some(a), Some(b)) => a.lane_bits() < b.lane_bits() && a.lane_count() == b.lane_count(),
            _ => true,
        }) && self.casts.iter().all(|&(a, b)| match (of(a), of(b)) {
            (Some(a), Some(b)) => a.lane_bits() == b.lane_bits() && a.lane_count() == b.lane_count(),
            _ => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clif::parse;

    fn roots(text: &str) -> Vec<String> {
        let rule = parse(text).remove(0).rule.unwrap();
        match typings(&rule) {
            Ok(all) => all.iter().map(|typing| typing.of(&rule.source).to_string()).collect(),
            Err(error) => vec![error.message],
        }
    }

    #[test]
    fn opcodes_tell_the_types() {
        assert_eq!(roots("rule r : iadd(x, 0) => x"), ["i8", "i16", "i32", "i64", "i128"]);
        assert_eq!(roots("rule r : iadd(x, 0) => x at lanes").len(), 9);
        assert_eq!(roots("rule r : band(x, 300) => x").len(), 4);
        assert_eq!(roots("rule r : ireduce.N(sextend.W(x: N)) => x").len(), 10);
        assert_eq!(roots("rule r : fneg(fneg(x)) => x"), ["f16", "f32", "f64", "f128"]);
        assert_eq!(roots("rule r : iadd(x, uextend(y)) => x at lanes").len(), 10);
        assert_eq!(roots("rule r : ineg(x: T) => x at T = i8 | i64"), ["i8", "i64"]);
        assert_eq!(roots("rule r : ireduce(x: i8) => x"), ["no types satisfy the rule"]);
    }

    /// Checks that the root of each variable is the least variable of its connected set. Each variable is unified with
    /// a random one, which may form rings.
    #[test]
    fn random_links_are_joined() {
        let mut state = 1_u64;
        let mut random = move |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % limit
        };
        for _ in 0..300 {
            let next: Vec<usize> = (0..1 + random(30)).map(|_| random(30)).collect();
            let mut all = Constraints { parents: (0..30).collect(), ..Constraints::default() };
            let mut least: Vec<usize> = (0..30).collect();
            for (from, &to) in next.iter().enumerate() {
                all.unify(Var(from), Var(to));
                let joined = [least[from], least[to]];
                let both = least.iter_mut().filter(|class| joined.contains(class));
                both.for_each(|class| *class = joined[0].min(joined[1]));
            }
            assert_eq!((0..30).map(|var| all.root(Var(var)).0).collect::<Vec<_>>(), least, "{next:?}");
        }
    }
}
