//! Counters and times as text or JSON.

use crate::args::StatsFormat;
use kingpost_codegen::{Stage, Stats};
use kingpost_mach::tiles::TileInfo;
use std::fmt::Write;

/// Statistics of one run of `compile`.
#[derive(Default)]
pub(crate) struct Summary {
    pub(crate) stats: Stats,
    /// The tiles of the target.
    pub(crate) tiles: &'static [TileInfo],
    /// Seconds of reading, by the wall clock.
    pub(crate) parse_s: f64,
    /// Seconds of everything after reading, by the wall clock.
    pub(crate) compile_s: f64,
}

/// A number that prints alike in text and JSON.
enum Number {
    Count(u64),
    Real(f64),
}

impl Summary {
    fn rows(&self) -> Vec<(String, Number)> {
        let stats = &self.stats;
        let mut rows = vec![
            ("functions".to_string(), Number::Count(stats.functions)),
            ("clif_insts".to_string(), Number::Count(stats.clif_insts)),
            ("code_bytes".to_string(), Number::Count(stats.code_bytes)),
            ("work".to_string(), Number::Count(stats.work)),
            ("parse_s".to_string(), Number::Real(self.parse_s)),
            ("compile_s".to_string(), Number::Real(self.compile_s)),
        ];
        for &stage in Stage::ALL {
            rows.push((format!("{stage}_s"), Number::Real(stats.stage_seconds[stage as usize])));
        }
        rows.extend([
            ("spills".to_string(), Number::Count(stats.spills)),
            ("fills".to_string(), Number::Count(stats.fills)),
            ("moves".to_string(), Number::Count(stats.moves)),
            ("unfused".to_string(), Number::Count(stats.unfused)),
            ("weighted_cost".to_string(), Number::Real(stats.weighted_cost)),
        ]);
        rows.extend(stats.proofs.rows().map(|(name, count)| (name.to_string(), Number::Count(count))));
        rows.extend(
            self.tiles
                .iter()
                .zip(stats.tiles)
                .map(|(tile, count)| (format!("tile_{}", tile.name), Number::Count(count))),
        );
        rows
    }

    /// Returns all counters and times in this format.
    pub(crate) fn render(&self, format: StatsFormat) -> String {
        let rows = self.rows().into_iter().map(|(name, number)| {
            let number = match number {
                Number::Count(count) => count.to_string(),
                // JSON has no infinities.
                Number::Real(real) if !real.is_finite() => "null".to_string(),
                Number::Real(real) => format!("{real:.6}"),
            };
            match format {
                StatsFormat::Text => format!("{name:<22} {number:>16}"),
                StatsFormat::Json => format!("\"{name}\":{number}"),
            }
        });
        let rows: Vec<String> = rows.collect();
        match format {
            StatsFormat::Text => rows.join("\n") + "\n",
            StatsFormat::Json => format!("{{{}}}\n", rows.join(",")),
        }
    }

    /// Returns the CPU milliseconds of each stage.
    pub(crate) fn times(&self) -> String {
        let total: f64 = self.stats.stage_seconds.iter().sum();
        let mut text = format!("{:<10} {:>10}   {:>5}\n", "stage", "ms", "%");
        let mut row = |name: &str, seconds: f64| {
            let share = if total > 0.0 { 100.0 * seconds / total } else { 0.0 };
            // Writing to a string does not fail.
            let _ = writeln!(text, "{name:<10} {:>10.3}   {share:>5.1}", seconds * 1e3);
        };
        for &stage in Stage::ALL {
            row(stage.name(), self.stats.stage_seconds[stage as usize]);
        }
        row("all", total);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_one_object() {
        let mut stats = Stats::default();
        stats.functions = 2;
        let summary = Summary { stats, tiles: &[], parse_s: 0.5, compile_s: 1.0 };
        let text = summary.render(StatsFormat::Json);
        assert!(
            text.starts_with("{\"functions\":2,\"clif_insts\":0,\"code_bytes\":0,\"work\":0,\"parse_s\":0.500000,"),
            "{text}"
        );
        assert!(text.ends_with("\"recompiled\":0}\n") && text.contains("\"regalloc_s\":"), "{text}");
        assert_eq!(summary.render(StatsFormat::Text).lines().count(), 16 + Stage::ALL.len());
        assert_eq!(summary.times().lines().count(), 2 + Stage::ALL.len());
    }
}
