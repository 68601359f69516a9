//! Reads and writes a document in JSON.

use serde_json::{Value, json};

fn main() -> serde_json::Result<()> {
    let text = guests::text(60_000);
    let lines: Vec<Value> = (0..).zip(text.lines()).map(|(number, line)| line_of(number, line)).collect();
    let mut document = serde_json::to_string(&json!({ "lines": lines, "count": lines.len() }))?;
    let mut sum = 0u64;
    for round in 0..16 {
        let mut value: Value = serde_json::from_str(&document)?;
        value["round"] = json!(round);
        sum = value["lines"].as_array().into_iter().flatten().fold(sum, |sum, line| {
            sum.wrapping_mul(31).wrapping_add((line["weight"].as_f64().unwrap_or_default() * 8.0) as u64)
        });
        document = if round % 2 == 0 { serde_json::to_string_pretty(&value)? } else { serde_json::to_string(&value)? };
    }
    println!("{} bytes, sum {:x}, weights {sum:x}", document.len(), guests::sum(document.as_bytes()));
    Ok(())
}

fn line_of(number: u32, line: &str) -> Value {
    let words: Vec<&str> = line.split(' ').collect();
    json!({ "number": number, "words": words, "weight": f64::from(number) / 8.0, "first": words.first(), "none": null, "odd": number % 2 == 1 })
}
