//! Growth of steps, bytes and time with the size of each shape.

use super::cases::Case;
use super::duel::duel;
use super::probe::{Probe, probe};
use crate::shapes::exponent;
use anyhow::{Result, ensure};

/// Steps, bytes, seconds and the checker's seconds at one size.
pub type Point = [f64; 4];

/// Returns the sizes from 10^4 to `max` instructions.
///
/// # Errors
/// If there are fewer than two sizes.
pub fn sizes(max: usize) -> Result<Vec<usize>> {
    let sizes: Vec<usize> = (4..9).map(|power| 10usize.pow(power)).filter(|&size| size <= max).collect();
    ensure!(sizes.len() > 1, "growth from 10^4 needs a larger size than {max} to compare with");
    Ok(sizes)
}

/// Prints the exponents of each of `names` on each of `shapes`, from 10^4 to `max` instructions.
///
/// # Errors
/// If `max` leaves fewer than two sizes.
pub fn report(names: &[&'static str], shapes: &[&'static str], max: usize, rounds: usize) -> Result<()> {
    let sizes = sizes(max)?;
    println!("exponents of steps, bytes, CPU seconds, and the checker's CPU seconds, over sizes {sizes:?}");
    let mut worst = vec![([f64::MIN; 4], [""; 4]); names.len()];
    for shape in shapes {
        let points = points(names, shape, &sizes, rounds)?;
        for ((name, points), worst) in names.iter().zip(&points).zip(&mut worst) {
            let fitted = fit(&sizes, points);
            let last = points.last().copied().unwrap_or_default();
            println!("  {shape:26} {name:14} {}   {:.3} s at {max}", cells(&fitted), last[2]);
            for (k, &exponent) in fitted.iter().enumerate() {
                if exponent > worst.0[k] {
                    (worst.0[k], worst.1[k]) = (exponent, shape);
                }
            }
        }
    }
    for (name, (exponents, where_)) in names.iter().zip(&worst) {
        println!("worst of {name}: {}   {}", cells(exponents), where_.join(", "));
    }
    Ok(())
}

/// Returns the points of each of `names` on a shape, one per size.
///
/// # Errors
/// If there is no such shape.
pub fn points(names: &[&'static str], shape: &str, sizes: &[usize], rounds: usize) -> Result<Vec<Vec<Point>>> {
    let mut points: Vec<Vec<Point>> = vec![Vec::new(); names.len()];
    for size in sizes {
        let spec = format!("shape:{shape}:{size}");
        let probes = probe(&spec, names);
        let outcome = duel(&Case::load(&spec)?, names, &[], rounds.min(3));
        for ((points, probe), row) in points.iter_mut().zip(probes).zip(&outcome.rows) {
            let (bytes, steps) = match probe {
                Probe::Done { bytes, steps } => (bytes as f64, steps as f64),
                Probe::Over | Probe::Unknown => (f64::NAN, f64::NAN),
            };
            points.push([steps, bytes, row.seconds, row.check_seconds]);
            for (reason, (count, first)) in &row.refused {
                println!("  {shape} {size}: refused by {}: {count} × {reason}, first {first}", row.name);
            }
        }
    }
    Ok(points)
}

/// Returns the fitted exponents of each coordinate of the points.
pub fn fit(sizes: &[usize], points: &[Point]) -> Point {
    let of = |k: usize| exponent(sizes, &points.iter().map(|point| point[k]).collect::<Vec<f64>>());
    [of(0), of(1), of(2), of(3)]
}

fn cells(exponents: &Point) -> String {
    exponents.iter().map(|x| format!("{x:6.2}")).collect::<Vec<_>>().join(" ")
}
