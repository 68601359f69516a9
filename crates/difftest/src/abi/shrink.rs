//! Shrinks a failing signature: fewer parameters, simpler types.

use super::signature::{Param, Signature};

/// Largest number of candidates: each is compiled by two compilers, linked and run.
const TRIALS: usize = 300;

/// Returns a smaller signature for which `fails` returns `true`, as it must for `signature`.
pub(super) fn shrink(signature: &Signature, mut fails: impl FnMut(&Signature) -> bool) -> Signature {
    let mut best = signature.clone();
    let mut trials = TRIALS;
    loop {
        let smaller = candidates(&best).find(|candidate| {
            let may = trials > 0;
            trials = trials.saturating_sub(1);
            may && fails(candidate)
        });
        match smaller {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

/// Returns the signatures that are one step simpler, the largest steps first.
fn candidates(from: &Signature) -> impl Iterator<Item = Signature> {
    let count = from.params.len();
    let without_result = from.result.map(|_| Signature { result: None, ..from.clone() });
    let plain_result = Signature { result: Some(Param::SIMPLEST), ..from.clone() };
    let plain_result = (from.result.is_some() && *from != plain_result).then_some(plain_result);
    let sizes = [count, count / 2, count / 4, 1].into_iter().filter(|&size| size > 0);
    let shorter = sizes.flat_map(move |size| {
        (0..count).step_by(size).map(move |start| {
            let mut params = from.params.clone();
            params.drain(start..(start + size).min(count));
            Signature { params, ..from.clone() }
        })
    });
    let plainer = (0..count).filter(|&k| from.params[k] != Param::SIMPLEST).map(|k| {
        let mut params = from.params.clone();
        params[k] = Param::SIMPLEST;
        Signature { params, ..from.clone() }
    });
    without_result.into_iter().chain(shorter).chain(plain_result).chain(plainer)
}

#[cfg(test)]
mod tests {
    use super::super::signature::signature;
    use super::*;

    #[test]
    fn what_matters_is_kept() {
        let is_float = |param: &Param| matches!(param, Param::Scalar(("f64", ..)));
        let fails = |candidate: &Signature| {
            let float = candidate.params.iter().position(is_float);
            float.is_some_and(|at| at >= 2) && candidate.result.is_some()
        };
        let mut shrunken = 0;
        for whole in (0..50).map(signature).filter(fails) {
            let small = shrink(&whole, fails);
            assert!(small.params.len() == 3 && small.params[..2] == [Param::SIMPLEST; 2] && is_float(&small.params[2]));
            assert_eq!(small.result, Some(Param::SIMPLEST));
            shrunken += 1;
        }
        assert!(shrunken > 10);
    }
}
