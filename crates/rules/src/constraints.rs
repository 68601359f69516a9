//! Constraints on the types of a rule: classes of equal types by union-find, the known shape of each class, and
//! inequalities.

use crate::ast::{Expr, ExprId, ExprKind, Inst, Operand, Position, Precondition, Rule, Statement, TypeText};
use crate::error::{ErrorKind, RuleError};
use crate::vocabulary::{ConvertOp, Function, Predicate};
use std::collections::HashMap;

/// Maximum nesting of types. The limit also detects types that contain themselves.
const MAX_NESTING: u32 = 32;

/// An unknown type. Several variables may turn out to be one class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct TypeVar(u32);

impl TypeVar {
    /// Returns the variable of this number.
    pub(crate) fn of_index(index: usize) -> TypeVar {
        TypeVar(index as u32)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Known shape of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TypeForm {
    /// An integer, a pointer or an array.
    Unknown,
    /// An integer; its width, if stated.
    Int(Option<u32>),
    /// A pointer to a class.
    Pointer(TypeVar),
    /// An array of elements of a class.
    Array(u32, TypeVar),
}

/// A relation between the sizes of two classes, in bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SizeRelation {
    /// The first class is narrower.
    Less(TypeVar, TypeVar),
    /// Both classes have one size.
    Equal(TypeVar, TypeVar),
}

/// A class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    pub(crate) shape: TypeForm,
    /// Minimum width in which its literals fit.
    pub(crate) least: u32,
    /// Whether an instruction has an operand or a result of this class.
    pub(crate) in_template: bool,
    /// Whether anything other than a literal is of this class.
    pub(crate) matters: bool,
    /// Whether a pointer points to this class.
    pub(crate) is_pointee: bool,
}

/// All constraints that a rule places on types.
#[derive(Debug)]
pub(crate) struct Constraints<'a> {
    parents: Vec<TypeVar>,
    classes: Vec<Class>,
    pub(crate) relations: Vec<SizeRelation>,
    exprs: Vec<TypeVar>,
    names: HashMap<(Space, &'a str), TypeVar>,
    in_template: bool,
}

/// Namespace of a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Space {
    Register,
    Constant,
    Type,
    /// The single type of all returned values.
    Return,
}

/// Error: two types cannot be one.
struct Clash;

impl<'a> Constraints<'a> {
    /// Collects the constraints of a rule.
    ///
    /// # Errors
    /// If one type would have two forms.
    pub(crate) fn collect(rule: &'a Rule) -> Result<Constraints<'a>, RuleError> {
        let mut all = Constraints {
            parents: Vec::new(),
            classes: Vec::new(),
            relations: Vec::new(),
            exprs: Vec::new(),
            names: HashMap::new(),
            in_template: true,
        };
        all.exprs = (0..rule.exprs).map(|_| all.fresh(TypeForm::Unknown)).collect();
        let clash =
            |at: Position, what: &str| RuleError::new(ErrorKind::Type, at, format!("{what} does not type check"));
        for (template, what) in [(&rule.source, "the source"), (&rule.target, "the target")] {
            for statement in template.blocks.iter().flat_map(|block| &block.statements) {
                all.statement(statement).map_err(|Clash| clash(statement.at, what))?;
            }
        }
        all.in_template = false;
        all.precondition(&rule.precondition).map_err(|Clash| clash(rule.at, "the precondition"))?;
        Ok(all)
    }

    /// Returns constraints of expressions of these widths only, by their numbers.
    pub(crate) fn of_widths(widths: &[u32]) -> Constraints<'a> {
        let mut all = Constraints {
            parents: Vec::new(),
            classes: Vec::new(),
            relations: Vec::new(),
            exprs: Vec::new(),
            names: HashMap::new(),
            in_template: false,
        };
        all.exprs = widths.iter().map(|&width| all.fresh(TypeForm::Int(Some(width)))).collect();
        all
    }

    fn fresh(&mut self, shape: TypeForm) -> TypeVar {
        let var = TypeVar(self.parents.len() as u32);
        self.parents.push(var);
        self.classes.push(Class { shape, least: 1, in_template: false, matters: false, is_pointee: false });
        var
    }

    /// Returns the number of type variables.
    pub(crate) fn len(&self) -> usize {
        self.parents.len()
    }

    /// Returns the variables that represent classes.
    pub(crate) fn roots(&self) -> impl Iterator<Item = TypeVar> {
        (0..self.parents.len() as u32).map(TypeVar).filter(|&var| self.parents[var.index()] == var)
    }

    /// Returns the variable that represents the class of `var`. Takes at most one step for each variable: a link
    /// leads from the root of one class to the root of another one, which forms no cycle.
    pub(crate) fn root(&self, mut var: TypeVar) -> TypeVar {
        while let Some(&parent) = self.parents.get(var.index())
            && parent != var
        {
            var = parent;
        }
        var
    }

    /// Returns the class of a variable.
    pub(crate) fn class(&self, var: TypeVar) -> Class {
        self.classes[self.root(var).index()]
    }

    /// Returns the type of an expression.
    pub(crate) fn of_expr(&self, id: ExprId) -> TypeVar {
        self.root(self.exprs[id.index()])
    }

    /// Returns the type of a register, if the rule has it.
    pub(crate) fn of_register(&self, name: &str) -> Option<TypeVar> {
        self.names.get(&(Space::Register, name)).map(|&var| self.root(var))
    }

    /// Returns the type of a constant, if the rule has it.
    pub(crate) fn of_constant(&self, name: &str) -> Option<TypeVar> {
        self.names.get(&(Space::Constant, name)).map(|&var| self.root(var))
    }

    fn named(&mut self, space: Space, name: &'a str) -> TypeVar {
        if let Some(&var) = self.names.get(&(space, name)) {
            return var;
        }
        let var = self.fresh(TypeForm::Unknown);
        self.names.insert((space, name), var);
        var
    }

    fn unify(&mut self, a: TypeVar, b: TypeVar) -> Result<(), Clash> {
        self.unify_within(a, b, MAX_NESTING)
    }

    fn unify_within(&mut self, a: TypeVar, b: TypeVar, depth: u32) -> Result<(), Clash> {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return Ok(());
        }
        if depth == 0 {
            return Err(Clash);
        }
        let (x, y) = (self.classes[a.index()], self.classes[b.index()]);
        let shape = match (x.shape, y.shape) {
            (TypeForm::Unknown, shape) | (shape, TypeForm::Unknown) => shape,
            (TypeForm::Int(v), TypeForm::Int(w)) if v == w || v.is_none() || w.is_none() => TypeForm::Int(v.or(w)),
            (TypeForm::Pointer(..), TypeForm::Pointer(..)) => x.shape,
            (TypeForm::Array(m, _), TypeForm::Array(n, _)) if m == n => x.shape,
            _ => return Err(Clash),
        };
        self.parents[b.index()] = a;
        self.classes[a.index()] = Class {
            shape,
            least: x.least.max(y.least),
            in_template: x.in_template | y.in_template,
            matters: x.matters | y.matters,
            is_pointee: x.is_pointee | y.is_pointee,
        };
        match (x.shape, y.shape) {
            (TypeForm::Pointer(v), TypeForm::Pointer(w)) | (TypeForm::Array(_, v), TypeForm::Array(_, w)) => {
                self.unify_within(v, w, depth - 1)
            }
            _ => Ok(()),
        }
    }

    fn shaped(&mut self, var: TypeVar, shape: TypeForm) -> Result<(), Clash> {
        let other = self.fresh(shape);
        self.unify(var, other)
    }

    fn int(&mut self, var: TypeVar) -> Result<(), Clash> {
        self.shaped(var, TypeForm::Int(None))
    }

    fn bit(&mut self, var: TypeVar) -> Result<(), Clash> {
        self.shaped(var, TypeForm::Int(Some(1)))
    }

    /// Makes a class a pointer, and returns the class that it points to.
    fn pointee(&mut self, var: TypeVar) -> Result<TypeVar, Clash> {
        let pointee = self.fresh(TypeForm::Unknown);
        self.classes[pointee.index()].is_pointee = true;
        self.shaped(var, TypeForm::Pointer(pointee))?;
        Ok(pointee)
    }

    fn text(&mut self, ty: &'a TypeText) -> TypeVar {
        match ty {
            TypeText::Int(width) => self.fresh(TypeForm::Int(Some(*width))),
            TypeText::Named(name) => self.named(Space::Type, name),
            TypeText::Array(length, element) => {
                let element = self.text(element);
                self.fresh(TypeForm::Array(*length, element))
            }
            TypeText::Pointer(pointee) => {
                let pointee = self.text(pointee);
                self.mark(pointee, |class| class.is_pointee = true);
                self.fresh(TypeForm::Pointer(pointee))
            }
        }
    }

    fn mark(&mut self, var: TypeVar, set: impl FnOnce(&mut Class)) {
        let root = self.root(var);
        set(&mut self.classes[root.index()]);
    }

    fn operand(&mut self, operand: &'a Operand) -> Result<TypeVar, Clash> {
        let var = self.expr(&operand.value)?;
        if let Some(ty) = &operand.ty {
            let ty = self.text(ty);
            self.unify(var, ty)?;
        }
        Ok(var)
    }

    /// Returns the type of the register that an instruction defines, or a fresh type if it defines none.
    fn result(&mut self, statement: &'a Statement) -> TypeVar {
        let Some(name) = &statement.defines else { return self.fresh(TypeForm::Unknown) };
        let var = self.named(Space::Register, name);
        self.mark(var, |class| (class.in_template, class.matters) = (true, true));
        var
    }

    fn statement(&mut self, statement: &'a Statement) -> Result<(), Clash> {
        let result = self.result(statement);
        match &statement.inst {
            Inst::Binary { a, b, .. } => {
                for operand in [a, b] {
                    let var = self.operand(operand)?;
                    self.unify(result, var)?;
                }
                self.int(result)
            }
            Inst::Icmp { a, b, .. } => {
                let (a, b) = (self.operand(a)?, self.operand(b)?);
                self.unify(a, b)?;
                self.bit(result)
            }
            Inst::Select { condition, a, b } => {
                let condition = self.operand(condition)?;
                self.bit(condition)?;
                for operand in [a, b] {
                    let var = self.operand(operand)?;
                    self.unify(result, var)?;
                }
                Ok(())
            }
            Inst::Convert { op, value, to } => {
                let value = self.operand(value)?;
                if let Some(to) = to {
                    let to = self.text(to);
                    self.unify(result, to)?;
                }
                self.convert(*op, value, result)
            }
            Inst::Copy { value } => {
                let value = self.operand(value)?;
                self.unify(result, value)
            }
            Inst::Branch { condition, .. } => {
                let condition = self.operand(condition)?;
                self.bit(condition)
            }
            Inst::Return { value } => {
                let value = self.operand(value)?;
                let all = self.named(Space::Return, "");
                self.unify(all, value)
            }
            Inst::Unreachable | Inst::Skip => Ok(()),
            memory => self.memory(memory, result),
        }
    }

    fn convert(&mut self, op: ConvertOp, from: TypeVar, to: TypeVar) -> Result<(), Clash> {
        match op {
            ConvertOp::PtrToInt => {
                self.pointee(from)?;
                return self.int(to);
            }
            ConvertOp::IntToPtr => {
                self.pointee(to)?;
                return self.int(from);
            }
            ConvertOp::Bitcast => {
                self.relations.push(SizeRelation::Equal(from, to));
                return Ok(());
            }
            ConvertOp::Trunc => self.relations.push(SizeRelation::Less(to, from)),
            ConvertOp::Zext | ConvertOp::Sext => self.relations.push(SizeRelation::Less(from, to)),
            ConvertOp::ZextOrTrunc => {}
        }
        self.int(from)?;
        self.int(to)
    }

    fn memory(&mut self, inst: &'a Inst, result: TypeVar) -> Result<(), Clash> {
        match inst {
            Inst::Alloca { element, count, .. } => {
                let pointee = self.pointee(result)?;
                self.mark(pointee, |class| (class.in_template, class.matters) = (true, true));
                if let Some(element) = element {
                    let element = self.text(element);
                    self.unify(pointee, element)?;
                }
                if let Some(count) = count {
                    let count = self.operand(count)?;
                    self.int(count)?;
                }
                Ok(())
            }
            Inst::Load { pointer, .. } => {
                let pointer = self.operand(pointer)?;
                let pointee = self.pointee(pointer)?;
                self.unify(result, pointee)
            }
            Inst::Store { value, pointer, .. } => {
                let value = self.operand(value)?;
                self.mark(value, |class| class.matters = true);
                let pointer = self.operand(pointer)?;
                let pointee = self.pointee(pointer)?;
                self.unify(value, pointee)
            }
            Inst::GetElementPtr { pointer, indices } => self.element_pointer(pointer, indices, result),
            _ => Ok(()),
        }
    }

    /// Adds the constraints of a `getelementptr`. The first index moves by whole pointees; each further index selects
    /// an element of an array.
    fn element_pointer(&mut self, pointer: &'a Operand, indices: &'a [Operand], result: TypeVar) -> Result<(), Clash> {
        let pointer = self.operand(pointer)?;
        let mut element = self.pointee(pointer)?;
        self.mark(element, |class| (class.in_template, class.matters) = (true, true));
        if indices.is_empty() {
            return Err(Clash);
        }
        for (position, index) in indices.iter().enumerate() {
            let index = self.operand(index)?;
            self.int(index)?;
            if position > 0 {
                let TypeForm::Array(_, inner) = self.class(element).shape else { return Err(Clash) };
                element = inner;
            }
        }
        let pointee = self.pointee(result)?;
        self.unify(pointee, element)
    }

    fn expr(&mut self, expr: &'a Expr) -> Result<TypeVar, Clash> {
        let var = self.exprs[expr.id.index()];
        let in_template = self.in_template;
        let is_literal = matches!(expr.kind, ExprKind::Literal(_));
        self.mark(var, |class| {
            class.in_template |= in_template;
            class.matters |= !is_literal;
        });
        match &expr.kind {
            ExprKind::Register(name) => {
                let named = self.named(Space::Register, name);
                self.unify(var, named)?;
            }
            ExprKind::Constant(name) => {
                let named = self.named(Space::Constant, name);
                self.unify(var, named)?;
                self.int(var)?;
            }
            ExprKind::Literal(value) => {
                self.int(var)?;
                self.mark(var, |class| class.least = class.least.max(least_width(*value)));
            }
            ExprKind::Bool(_) => self.bit(var)?,
            ExprKind::Null => {
                self.pointee(var)?;
            }
            ExprKind::Undef => {}
            ExprKind::Unary(_, a) => {
                let a = self.expr(a)?;
                self.unify(var, a)?;
                self.int(var)?;
            }
            ExprKind::Binary(_, a, b) => {
                for part in [a, b] {
                    let part = self.expr(part)?;
                    self.unify(var, part)?;
                }
                self.int(var)?;
            }
            ExprKind::Call(function, args) => self.call(*function, args, var)?,
        }
        Ok(var)
    }

    fn call(&mut self, function: Function, args: &'a [Expr], result: TypeVar) -> Result<(), Clash> {
        let mut vars = Vec::new();
        for arg in args {
            vars.push(self.expr(arg)?);
        }
        self.int(result)?;
        match function {
            Function::Trunc => self.relations.extend(vars.iter().map(|&arg| SizeRelation::Less(result, arg))),
            Function::Sext | Function::Zext => {
                self.relations.extend(vars.iter().map(|&arg| SizeRelation::Less(arg, result)));
            }
            Function::Width => {}
            Function::Log2
            | Function::CountLeadingZeros
            | Function::CountTrailingZeros
            | Function::ComputeNumSignBits => {
                for arg in vars {
                    self.int(arg)?;
                }
            }
            _ => {
                for arg in vars {
                    self.unify(result, arg)?;
                }
            }
        }
        Ok(())
    }

    fn precondition(&mut self, root: &'a Precondition) -> Result<(), Clash> {
        let mut work = vec![root];
        while let Some(next) = work.pop() {
            match next {
                Precondition::True => {}
                Precondition::Not(inner) => work.push(inner),
                Precondition::All(parts) | Precondition::Any(parts) => work.extend(parts),
                Precondition::Compare(exprs, _) => self.equal_types(exprs)?,
                Precondition::Predicate(_, Predicate::HasOneUse, args) => {
                    self.expr(&args[0])?;
                }
                Precondition::Predicate(_, predicate, args) => {
                    self.equal_types(args)?;
                    let first = self.exprs[args[0].id.index()];
                    if *predicate == Predicate::EquivalentAddressValues {
                        self.pointee(first)?;
                    } else {
                        self.int(first)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn equal_types(&mut self, exprs: &'a [Expr]) -> Result<(), Clash> {
        let mut first = None;
        for expr in exprs {
            let var = self.expr(expr)?;
            match first {
                Some(first) => self.unify(first, var)?,
                None => first = Some(var),
            }
        }
        Ok(())
    }
}

/// Returns the minimum width in which a literal is a signed number. The sign bit of a negative literal does not count,
/// as in Alive.
fn least_width(value: i128) -> u32 {
    let bits = 128 - value.unsigned_abs().leading_zeros();
    if value > 0 { bits + 1 } else { bits.max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that connected types have one root, and that pointers to them have one. Each type is unified with a
    /// random one, which may form rings.
    #[test]
    fn random_links_are_joined() {
        let mut state = 1_u64;
        let mut random = move |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % limit
        };
        for _ in 0..300 {
            let next: Vec<usize> = (0..1 + random(15)).map(|_| random(15)).collect();
            let mut all = Constraints::of_widths(&[]);
            let types: Vec<TypeVar> = (0..15).map(|_| all.fresh(TypeForm::Unknown)).collect();
            let pointers: Vec<TypeVar> = types.iter().map(|&ty| all.fresh(TypeForm::Pointer(ty))).collect();
            let mut class: Vec<usize> = (0..15).collect();
            for (from, &to) in next.iter().enumerate() {
                assert!(all.unify(pointers[from], pointers[to]).is_ok());
                let joined = [class[from], class[to]];
                class.iter_mut().filter(|class| joined.contains(class)).for_each(|class| *class = joined[0]);
            }
            for (a, b) in (0..15).flat_map(|a| (0..a).map(move |b| (a, b))) {
                for vars in [&types, &pointers] {
                    assert_eq!(all.root(vars[a]) == all.root(vars[b]), class[a] == class[b], "{a} and {b} in {next:?}");
                }
            }
        }
    }

    /// Checks that unification ends if types contain each other in rings.
    #[test]
    fn random_rings_of_pointers_end() {
        let mut state = 1_u64;
        let mut random = move |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % limit
        };
        for _ in 0..300 {
            let count = 1 + random(10);
            let next: Vec<usize> = (0..count).map(|_| random(count)).collect();
            let mut all = Constraints::of_widths(&[]);
            let types: Vec<TypeVar> = (0..count).map(|_| all.fresh(TypeForm::Unknown)).collect();
            for (from, &to) in next.iter().enumerate() {
                // Each type is a pointer to a random one. Unification of two rings ends at the maximum nesting of
                // types.
                _ = all.shaped(types[from], TypeForm::Pointer(types[to]));
            }
            for &to in &next {
                _ = all.unify(types[0], types[to]);
            }
            assert!(types.iter().all(|&ty| all.root(all.root(ty)) == all.root(ty)), "{next:?}");
        }
    }
}
