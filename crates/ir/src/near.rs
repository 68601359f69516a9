//! Suggestions for names that do not exist.

/// Maximum number of suggestions.
const MAX_NAMES: usize = 5;

/// Returns up to five names of `known` that are close to `name`, nearest first. A name is close if its edit distance
/// is at most a third of the length of `name`, or if it contains `name` and has at most two more characters.
pub fn near_names<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let allowed = name.chars().count().div_ceil(3);
    let distances = known.into_iter().map(|other| (distance(name, other), other));
    let mut near: Vec<(usize, &str)> =
        distances.filter(|&(distance, other)| distance <= allowed || (distance <= 2 && other.contains(name))).collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(MAX_NAMES);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Returns the end of a message about a name that does not exist: `; near: a, b`, or an empty string.
pub fn near_suffix<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let names = near_names(name, known);
    if names.is_empty() { String::new() } else { format!("; near: {}", names.join(", ")) }
}

/// Returns the minimum number of characters to insert, delete or replace that turns one word into the other
/// (Levenshtein 1966). Computes the table of prefixes row by row.
pub fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[row.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expected) in [("", "abc", 3), ("abc", "abc", 0), ("kitten", "sitting", 3), ("ab", "ba", 2)] {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected), "{a} {b}");
        }
    }

    #[test]
    fn nearest_names_come_first() {
        let known = ["%sieve", "%sieved", "%main", "%serve", "%sieve"];
        assert_eq!(near_names("%sieve", known), ["%sieve", "%sieved", "%serve"]);
        assert!(near_names("%printf", known).is_empty());
        assert_eq!((near_suffix("%printf", known), near_suffix("%mai", known)), ("".into(), "; near: %main".into()));
        assert_eq!(near_names("ad", ["iadd", "and", "add_more", "b"]), ["and", "iadd"]);
    }
}
