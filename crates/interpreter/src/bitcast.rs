//! Operations on whole values, not lane by lane: selection, halves, bit casts, and constants.

use kingpost_ir::InstView;

use crate::access::order;
use crate::convert;
use crate::error::Stop;
use crate::interpreter::{Cx, Flow, Interpreter};

impl Interpreter<'_> {
    pub(crate) fn select(&mut self, cx: Cx<'_>) -> Flow {
        let chosen = if self.operand(cx, 0) != 0 { 1 } else { 2 };
        let bits = self.operand(cx, chosen);
        self.finish(cx, bits)
    }

    pub(crate) fn bmask(&mut self, cx: Cx<'_>) -> Flow {
        let bits = if self.operand(cx, 0) != 0 { u128::MAX } else { 0 };
        self.finish(cx, bits)
    }

    pub(crate) fn isplit(&mut self, cx: Cx<'_>) -> Flow {
        let x = self.operand(cx, 0);
        self.set_results(cx, &[x, x >> (cx.ctrl.bits() / 2)]);
        Flow::Next
    }

    pub(crate) fn iconcat(&mut self, cx: Cx<'_>) -> Flow {
        let bits = self.operand(cx, 0) | self.operand(cx, 1) << cx.ctrl.bits();
        self.finish(cx, bits)
    }

    pub(crate) fn bitcast(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::LoadNoOffset { flags, arg } = cx.view() else { return Err(cx.malformed()) };
        let from = cx.type_of(arg);
        if cx.ctrl.bits() > 128 {
            return Err(cx.not_supported());
        }
        // Without a byte order, the lane counts are equal, so that the result does not depend on the order.
        let bits = convert::bitcast(from, cx.ctrl, order(flags), self.get(cx, arg));
        Ok(self.finish(cx, bits))
    }

    pub(crate) fn constant(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let bits = match cx.view() {
            InstView::UnaryImm { imm } => imm as u64 as u128,
            InstView::UnaryIeee16 { imm } => imm.bits().into(),
            InstView::UnaryIeee32 { imm } => imm.bits().into(),
            InstView::UnaryIeee64 { imm } => imm.bits().into(),
            InstView::UnaryConst { constant } => {
                let bytes = cx.function().dfg.constants.bytes(constant);
                if bytes.len() > 16 {
                    return Err(cx.not_supported());
                }
                bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u128::from(byte))
            }
            _ => return Err(cx.malformed()),
        };
        Ok(self.finish(cx, bits))
    }
}
