//! Rewriting: tries the rules of one root opcode on an instruction that is about to be made.
//!
//! A *request* is an instruction that does not exist yet: an [`InstData`] with finished operands. Every request
//! passes through [`Graph::make`], the only constructor. It folds constants, orders operands, tries the rules of
//! the root, looks up equal instructions, and only then makes a new instruction. The right-hand side of a rule is
//! again a request. An instruction that is executed for its effect stays in its place; a rule replaces it by an
//! [`Effect`].
//!
//! Constants are the right operands of commutative opcodes and of comparisons; the rules rely on that.
//!
//! | file | holds |
//! |---|---|
//! | `generated.rs` | the matcher of the proved rules, written by `kingpost rules generate` |
//! | `support.rs` | functions that the matcher calls |
//! | `applications.rs` | counts and limits of the applications of rules |
//! | `graph.rs` | the interface to the graph of instructions |
//! | `sources.rs` | operands that the rules of a root look for |
//! | `bits.rs` | constants of rules |
//! | `divide.rs` | divisions by constants |

mod applications;
mod bits;
mod divide;
#[rustfmt::skip]
#[expect(clippy::too_many_arguments, reason = "the function of a rule takes all that the rule names")]
mod generated;
mod graph;
mod sources;
mod support;

pub use applications::{Applications, RuleLimits};
pub use bits::Bits;
pub use generated::Rule;
pub use graph::{Effect, Graph};
use kingpost_ir::types::I128;
use kingpost_ir::{InstData, Opcode, Type, Value};

impl Rule {
    /// Returns the rule of this name.
    pub fn named(name: &str) -> Option<Rule> {
        Rule::ALL.iter().copied().find(|rule| rule.name() == name)
    }
}

/// Returns `true` if a rule may match the request, or constants may be folded in it. `definition` returns the
/// instruction whose first result a value is, and `ty` its type. The operands show quickly that most requests
/// cannot be simplified.
#[inline(always)]
pub fn may_match<'g>(
    request: &InstData,
    definition: impl Fn(Value) -> Option<&'g InstData>,
    ty: impl Fn(Value) -> Type,
) -> bool {
    let sources = generated::sources(request.opcode());
    let opcode = |inst: Option<&InstData>| inst.map_or(Opcode::Nop, InstData::opcode);
    // Extended constants are the constants of 128 bits.
    let is_wide = |value, opcode| matches!(opcode, Opcode::Uextend | Opcode::Sextend) && ty(value) == I128;
    let is_first_looked_for =
        |value, opcode| opcode == Opcode::Iconst || sources.look_for_first(opcode) || is_wide(value, opcode);
    sources.look_at_any()
        || match *request.args() {
            [x] => is_first_looked_for(x, opcode(definition(x))),
            [x, y] => {
                let (x_opcode, y_inst) = (opcode(definition(x)), definition(y));
                let is_second_looked_for = || match y_inst.and_then(InstData::iconst_bits) {
                    Some(bits) => sources.look_for_constant(bits, x_opcode),
                    None => sources.look_for_second(opcode(y_inst)) || is_wide(y, opcode(y_inst)),
                };
                x == y || is_first_looked_for(x, x_opcode) || is_second_looked_for()
            }
            _ => true,
        }
}

/// Returns the value that the first matching rule makes of the request, or else the product that replaces a
/// division. `None` if there is neither.
pub fn rewrite(graph: &mut impl Graph, request: &InstData) -> Option<Value> {
    generated::match_request(graph, request).or_else(|| expand_division(graph, request))
}

/// Returns the replacement that the first matching rule makes of an instruction that is executed for its effect.
pub fn replace_effect(graph: &mut impl Graph, request: &InstData) -> Option<Effect> {
    generated::match_effect(graph, request)
}

/// Returns the product that replaces a division by a constant: faster, but longer. `None` if short code is
/// preferred.
pub fn expand_division(graph: &mut impl Graph, request: &InstData) -> Option<Value> {
    let is_division = matches!(request.opcode(), Opcode::Udiv | Opcode::Sdiv | Opcode::Urem | Opcode::Srem);
    if is_division && !graph.prefers_size() { divide::expand(graph, request) } else { None }
}

/// Returns a value that is zero exactly if `condition` is, made by the rules on `cond(x)`; `None` if no rule matches.
pub fn simplify_condition(graph: &mut impl Graph, condition: Value) -> Option<Value> {
    generated::match_condition(graph, condition)
}
