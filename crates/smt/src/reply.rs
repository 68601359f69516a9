//! Parser of a solver's answer to `(get-value (…))`.

use crate::bits::{Bits, MAX_WIDTH, Value};

/// Returns the values in a reply of the form `((name value) …)`, in order. `None` if the text is anything else.
pub(crate) fn values(text: &str) -> Option<Vec<Value>> {
    let mut tokens = tokens(text);
    let mut expect = |what: &str| (tokens.next()? == what).then_some(());
    expect("(")?;
    let mut values = Vec::new();
    loop {
        match tokens.next()? {
            ")" => return Some(values),
            "(" => {}
            _ => return None,
        }
        let _name = tokens.next()?;
        values.push(value(&mut tokens)?);
        if tokens.next()? != ")" {
            return None;
        }
    }
}

/// Returns the parentheses and the words between them.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['(', ')']).flat_map(|piece| {
        let (word, bracket) = match piece.strip_suffix(['(', ')']) {
            Some(word) => (word, &piece[word.len()..]),
            None => (piece, ""),
        };
        word.split_whitespace().chain((!bracket.is_empty()).then_some(bracket))
    })
}

/// Parses `true`, `#b01`, `#x0f` or `(_ bv15 8)`.
fn value<'a>(tokens: &mut impl Iterator<Item = &'a str>) -> Option<Value> {
    let word = tokens.next()?;
    let digits = |radix_bits: u32| {
        let width = u32::try_from(word.len() - 2).ok()? * radix_bits;
        let value = u128::from_str_radix(&word[2..], 1 << radix_bits).ok()?;
        (1..=MAX_WIDTH).contains(&width).then(|| Value::Bits(Bits::new(width, value)))
    };
    match word {
        "true" | "false" => Some(Value::Bool(word == "true")),
        _ if word.starts_with("#b") => digits(1),
        _ if word.starts_with("#x") => digits(4),
        "(" => {
            let (underscore, number, width, close) = (tokens.next()?, tokens.next()?, tokens.next()?, tokens.next()?);
            let (number, width) = (number.strip_prefix("bv")?.parse().ok()?, width.parse().ok()?);
            let sound = underscore == "_" && close == ")" && (1..=MAX_WIDTH).contains(&width);
            sound.then(|| Value::Bits(Bits::new(width, number)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_value() {
        let read = values("((t1 #x0f)\n (t2 #b01) (t3 false)(t4 (_ bv7 12)))").unwrap();
        let bits = |width, value| Value::Bits(Bits::new(width, value));
        assert_eq!(read, [bits(8, 15), bits(2, 1), Value::Bool(false), bits(12, 7)]);
        for wrong in ["", "(", "((t1", "((t1 #xg))", "(error \"no model\")", "((t1 #b))", "((t1 (_ bv1 999)))"] {
            assert_eq!(values(wrong), None, "{wrong}");
        }
    }
}
