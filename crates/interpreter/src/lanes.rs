//! Conversion of operations on lanes to instructions. Scalars are vectors of one lane.

use kingpost_ir::{InstView, Type};

use crate::error::{Fault, Stop};
use crate::float;
use crate::int::Overflow;
use crate::interpreter::{Cx, Flow, Interpreter};
use crate::value::mask;

/// Returns a lane of a vector, zero-extended.
pub(crate) fn lane(ty: Type, bits: u128, index: u32) -> u128 {
    bits >> (index * ty.lane_bits()) & mask(ty.lane_bits())
}

impl Interpreter<'_> {
    /// Computes a result of type `result` lane by lane. `lane_of` receives the index of the lane.
    pub(crate) fn each_lane(
        &mut self,
        cx: Cx<'_>,
        result: Type,
        lane_of: impl Fn(u32) -> Result<u128, Fault>,
    ) -> Result<Flow, Stop> {
        if result.bits() > 128 {
            return Err(cx.not_supported());
        }
        let mut bits = 0;
        for index in 0..result.lane_count() {
            let lane = lane_of(index).map_err(|fault| match fault {
                Fault::Trap(code) => Stop::Trap(code),
                Fault::NotSupported => cx.not_supported(),
            })?;
            bits |= (lane & mask(result.lane_bits())) << (index * result.lane_bits());
        }
        Ok(self.finish(cx, bits))
    }

    /// Applies an operation to one operand, which has the type of the result.
    pub(crate) fn lanes1(&mut self, cx: Cx<'_>, op: impl Fn(u32, u128) -> Result<u128, Fault>) -> Result<Flow, Stop> {
        let x = self.operand(cx, 0);
        self.each_lane(cx, cx.ctrl, |index| op(cx.ctrl.lane_bits(), lane(cx.ctrl, x, index)))
    }

    /// Applies an operation to two operands, which have the type of the result.
    pub(crate) fn lanes2(
        &mut self,
        cx: Cx<'_>,
        op: impl Fn(u32, u128, u128) -> Result<u128, Fault>,
    ) -> Result<Flow, Stop> {
        let (ty, x, y) = (cx.ctrl, self.operand(cx, 0), self.operand(cx, 1));
        self.each_lane(cx, ty, |index| op(ty.lane_bits(), lane(ty, x, index), lane(ty, y, index)))
    }

    /// Applies an operation to three operands, which have the type of the result.
    pub(crate) fn lanes3(
        &mut self,
        cx: Cx<'_>,
        op: impl Fn(u32, u128, u128, u128) -> Result<u128, Fault>,
    ) -> Result<Flow, Stop> {
        let ty = cx.ctrl;
        let [x, y, z] = [0, 1, 2].map(|operand| self.operand(cx, operand));
        self.each_lane(cx, ty, |index| op(ty.lane_bits(), lane(ty, x, index), lane(ty, y, index), lane(ty, z, index)))
    }

    /// Converts one operand, lane by lane. `op` takes the widths of operand and result.
    pub(crate) fn converted(
        &mut self,
        cx: Cx<'_>,
        op: impl Fn(u32, u32, u128) -> Result<u128, Fault>,
    ) -> Result<Flow, Stop> {
        let Some(&operand) = cx.args().first() else { return Err(cx.malformed()) };
        let (from, x) = (cx.type_of(operand), self.get(cx, operand));
        if from.lane_count() != cx.ctrl.lane_count() || from.bits() > 128 {
            return Err(cx.not_supported());
        }
        self.each_lane(cx, cx.ctrl, |index| op(from.lane_bits(), cx.ctrl.lane_bits(), lane(from, x, index)))
    }

    pub(crate) fn int1(&mut self, cx: Cx<'_>, op: fn(u32, u128) -> u128) -> Result<Flow, Stop> {
        self.lanes1(cx, |bits, x| Ok(op(bits, x)))
    }

    pub(crate) fn int2(&mut self, cx: Cx<'_>, op: fn(u32, u128, u128) -> u128) -> Result<Flow, Stop> {
        self.lanes2(cx, |bits, x, y| Ok(op(bits, x, y)))
    }

    /// Returns the function that canonicalizes the result of floating-point arithmetic, if NaNs must be canonical,
    /// and the identity otherwise. It takes the lane's width.
    pub(crate) fn canonicalize(&self) -> impl Fn(u32, u128) -> u128 + use<> {
        let canonical = self.canonical_nans;
        move |bits, x| if canonical { float::canonical(bits, x) } else { x }
    }

    pub(crate) fn float1(&mut self, cx: Cx<'_>, op: fn(u32, u128) -> u128) -> Result<Flow, Stop> {
        let canonicalize = self.canonicalize();
        self.lanes1(cx, |bits, x| Ok(canonicalize(bits, op(bits, x))))
    }

    pub(crate) fn float2(&mut self, cx: Cx<'_>, op: fn(u32, u128, u128) -> u128) -> Result<Flow, Stop> {
        let canonicalize = self.canonicalize();
        self.lanes2(cx, |bits, x, y| Ok(canonicalize(bits, op(bits, x, y))))
    }

    pub(crate) fn float3(&mut self, cx: Cx<'_>, op: fn(u32, u128, u128, u128) -> u128) -> Result<Flow, Stop> {
        let canonicalize = self.canonicalize();
        self.lanes3(cx, |bits, x, y, z| Ok(canonicalize(bits, op(bits, x, y, z))))
    }

    /// Converts between floating-point formats.
    pub(crate) fn float_convert(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let canonicalize = self.canonicalize();
        self.converted(cx, |from, to, x| Ok(canonicalize(to, float::convert(from, to, x))))
    }

    /// Shifts or rotates all lanes by one amount, which is a scalar of any width.
    pub(crate) fn shift(&mut self, cx: Cx<'_>, op: fn(u32, u128, u128) -> u128) -> Result<Flow, Stop> {
        let amount = self.operand(cx, 1);
        self.lanes2(cx, |bits, x, _| Ok(op(bits, x, amount)))
    }

    /// Sets a result and its overflow flag.
    pub(crate) fn overflow(&mut self, cx: Cx<'_>, op: fn(u32, u128, u128) -> Overflow) -> Flow {
        let (result, overflow) = op(cx.ctrl.bits(), self.operand(cx, 0), self.operand(cx, 1));
        self.set_results(cx, &[result, overflow.into()]);
        Flow::Next
    }

    /// Sets a result and its overflow flag. The carry or borrow counts as 1 if it is not zero.
    pub(crate) fn overflow_with_carry(&mut self, cx: Cx<'_>, step: fn(u32, u128, u128) -> Overflow) -> Flow {
        let [x, y, carry] = [0, 1, 2].map(|operand| self.operand(cx, operand));
        let (result, overflow) = crate::int::with_carry(step, cx.ctrl.bits(), x, y, carry != 0);
        self.set_results(cx, &[result, overflow.into()]);
        Flow::Next
    }

    /// Compares operands. The result is 1 or 0 for scalars, and all ones or zeros in each lane for vectors.
    fn compared(&mut self, cx: Cx<'_>, holds: impl Fn(u32, u128, u128) -> bool) -> Result<Flow, Stop> {
        let truth = if cx.ctrl.is_vector() { u128::MAX } else { 1 };
        let (ty, x, y) = (cx.ctrl, self.operand(cx, 0), self.operand(cx, 1));
        self.each_lane(cx, ty.as_truthy(), |index| {
            let holds = holds(ty.lane_bits(), lane(ty, x, index), lane(ty, y, index));
            Ok(if holds { truth } else { 0 })
        })
    }

    pub(crate) fn icmp(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::IntCompare { cond, .. } = cx.view() else { return Err(cx.malformed()) };
        self.compared(cx, |bits, x, y| crate::int::compare(cond, bits, x, y))
    }

    pub(crate) fn fcmp(&mut self, cx: Cx<'_>) -> Result<Flow, Stop> {
        let InstView::FloatCompare { cond, .. } = cx.view() else { return Err(cx.malformed()) };
        self.compared(cx, |bits, x, y| float::compare(cond, bits, x, y))
    }
}
