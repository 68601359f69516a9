//! Inlining: replaces calls by the bodies of the called functions.
//!
//! ```text
//! block0(v0: i32): v1 = call fn0(v0)       block0(v0: i32): jump block1(v0)
//!                  return v1               block1(v2: i32): v3 = iadd v2, v2
//!                                                           jump block2(v3)
//!                                          block2(v1: i32): return v1
//! ```
//!
//! with `fn0` a function that doubles its argument. A client decides about each call by its [`Inline`], which has the
//! body. `simplify_cfg` merges the blocks afterwards.
//!
//! A copied `return` becomes a jump to the code after the call, and a copied tail call an ordinary call, unless the
//! call itself is a tail call. The body of a `try_call` must not call anything, so that it throws nothing.
//! Instructions of the copy have the source location of the call, because the locations of two functions are
//! unrelated. Calls in the copy have the stack map entries of the call too, and its debug tags precede the tags of the
//! copy. Accesses in the copy lose `readonly` and `can_move`, which are promises about one function. [`Refusal`] lists
//! the bodies that are not copied; the function is unchanged then.
//!
//! The functions may use aliases, before and after. Leaves nothing of `Analyses` valid. Cost: linear in the instructions
//! of the caller and of the copies.
//!
//! | file | holds |
//! |---|---|
//! | `mod.rs` | the walk over the calls, and the client's decisions |
//! | `check.rs` | the bodies that can be copied |
//! | `copy.rs` | the copy of one body |
//! | `declarations.rs` | the declarations that a body needs, in the caller |

mod check;
mod copy;
mod declarations;

pub use check::{Refusal, check_functions};
pub use copy::Inlined;

use check::check;
use copy::Copy;
use kingpost_ir::{FuncRef, Function, Inst, InstView, Opcode, Value};

/// Decision about a call.
#[derive(Debug)]
pub enum InlineCommand<'a> {
    /// The call remains.
    KeepCall,
    /// The call is replaced by a body.
    Inline {
        /// The called function.
        callee: &'a Function,
        /// Whether calls in the copy of the body are decided about, too. The client bounds recursion then.
        visit_callee: bool,
    },
}

/// A client's policy: the calls that are inlined, and the bodies.
pub trait Inline {
    /// Decides about the instruction `call` of `caller`, which calls `callee` with `args`. The opcode is `call`,
    /// `return_call` or `try_call`.
    fn inline(
        &mut self,
        caller: &Function,
        call: Inst,
        opcode: Opcode,
        callee: FuncRef,
        args: &[Value],
    ) -> InlineCommand<'_>;

    /// Receives the outcome of a decision to inline a call of `callee`.
    fn decided(&mut self, caller: &Function, callee: FuncRef, outcome: Result<(), Refusal>);
}

/// Inlines the calls of `func` that the policy chooses. Returns their number.
///
/// ```
/// use kingpost_ir::{FuncRef, Function, Inst, Opcode, Value};
/// use kingpost_opt::inline::{Inline, InlineCommand, Refusal, inline_calls};
///
/// /// Inlines every call of one function.
/// struct All(Function);
///
/// impl Inline for All {
///     fn inline(&mut self, _: &Function, _: Inst, _: Opcode, _: FuncRef, _: &[Value]) -> InlineCommand<'_> {
///         InlineCommand::Inline { callee: &self.0, visit_callee: false }
///     }
///
///     fn decided(&mut self, _: &Function, _: FuncRef, outcome: Result<(), Refusal>) {
///         assert_eq!(outcome, Ok(()));
///     }
/// }
///
/// let text = "
///     function %double(i32) -> i32 { block0(v0: i32): v1 = iadd v0, v0 return v1 }
///     function %f(i32) -> i32 { fn0 = %double(i32) -> i32 block0(v0: i32): v1 = call fn0(v0) return v1 }";
/// let mut functions = kingpost_reader::parse_functions(text).unwrap();
/// let mut policy = All(functions.remove(0));
/// assert_eq!(inline_calls(&mut functions[0], &mut policy), 1);
/// assert!(!functions[0].to_string().contains("call"));
/// ```
pub fn inline_calls(func: &mut Function, policy: &mut dyn Inline) -> usize {
    let (Some(first), Some(last)) = (func.layout.entry_block(), func.layout.last_block()) else { return 0 };
    let mut count = 0;
    // Adjacent blocks whose calls are not decided yet.
    let mut open = vec![Inlined { first, last }];
    while let Some(Inlined { first, last }) = open.pop() {
        let mut next_block = Some(first);
        while let Some(block) = next_block {
            next_block = func.layout.next_block(block).filter(|_| block != last);
            // From the end, because the instructions after an inlined call move to another block.
            let mut next_inst = func.layout.last_inst(block);
            while let Some(inst) = next_inst {
                next_inst = func.layout.prev_inst(inst);
                let Some((inlined, visits)) = decide(func, inst, policy) else { continue };
                count += 1;
                open.extend(visits.then_some(inlined));
            }
        }
    }
    count
}

/// Inlines a call if the policy chooses it. Returns the blocks of the body, and whether its calls are visited.
fn decide(func: &mut Function, inst: Inst, policy: &mut dyn Inline) -> Option<(Inlined, bool)> {
    let (InstView::Call { func: callee, args } | InstView::TryCall { func: callee, args, .. }) = func.dfg.view(inst)
    else {
        return None;
    };
    let command = policy.inline(func, inst, func.dfg.opcode(inst), callee, args);
    let InlineCommand::Inline { callee: body, visit_callee } = command else { return None };
    let outcome = inline_call(func, inst, body);
    policy.decided(func, callee, outcome.as_ref().map(|_| ()).map_err(Clone::clone));
    Some((outcome.ok()?, visit_callee))
}

/// Replaces the instruction `call` of `func`, which calls `callee`, by the body of `callee`. Both functions must be
/// valid.
///
/// # Errors
/// If the body cannot be copied; `func` is unchanged then.
pub fn inline_call(func: &mut Function, call: Inst, callee: &Function) -> Result<Inlined, Refusal> {
    check(func, call, callee)?;
    Ok(Copy::new(func, call, callee).run())
}
