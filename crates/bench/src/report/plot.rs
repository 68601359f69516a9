//! The plots, as SVG.

use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::path::Path;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const FONT: &str = "sans-serif";
const PANEL: (u32, u32) = (460, 340);

/// Creates panels of one plot, next to each other.
fn panels<'a>(path: &'a Path, columns: usize, rows: usize, (width, height): (u32, u32)) -> Result<Vec<Area<'a>>> {
    let size = (width * columns as u32, height * rows as u32);
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE)?;
    Ok(root.split_evenly((rows, columns)))
}

/// Returns the color of the `i`-th series.
fn color(i: usize) -> PaletteColor<Palette99> {
    Palette99::pick(i)
}

/// Returns the range from the least to the greatest number, with some room.
fn span(numbers: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (low, high) = numbers
        .filter(|number| number.is_finite() && *number > 0.0)
        .fold((f64::MAX, 0.0_f64), |(low, high), number| (low.min(number), high.max(number)));
    if low > high { 0.5..2.0 } else { low / 1.25..high * 1.25 }
}

/// Points with names, on logarithmic axes.
pub(super) struct Scatter {
    pub(super) title: String,
    pub(super) axes: [&'static str; 2],
    pub(super) points: Vec<(String, f64, f64)>,
}

/// Draws one panel for each chart.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn scatter(path: &Path, charts: &[Scatter]) -> Result<()> {
    for (area, chart) in panels(path, charts.len(), 1, PANEL)?.iter().zip(charts) {
        let x = span(chart.points.iter().map(|point| point.1));
        // Room for the names, which are to the right of the points.
        let x = x.start..x.end * 1.6;
        let y = span(chart.points.iter().map(|point| point.2));
        let mut plot = ChartBuilder::on(area)
            .caption(&chart.title, (FONT, 16))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(55)
            .build_cartesian_2d(x.log_scale(), y.log_scale())?;
        let format = |number: &f64| format!("{number:.2}");
        plot.configure_mesh()
            .light_line_style(WHITE)
            .x_desc(chart.axes[0])
            .y_desc(chart.axes[1])
            .x_label_formatter(&format)
            .y_label_formatter(&format)
            .draw()?;
        plot.draw_series(chart.points.iter().enumerate().map(|(i, (name, x, y))| {
            EmptyElement::at((*x, *y))
                + Circle::new((0, 0), 4, color(i).filled())
                + Text::new(name.clone(), (7, -6), (FONT, 12))
        }))?;
    }
    Ok(())
}

/// Series of numbers, with one number for each category.
pub(super) struct Bars {
    pub(super) axis: &'static str,
    pub(super) categories: Vec<String>,
    pub(super) series: Vec<(String, Vec<f64>)>,
}

/// Draws horizontal bars, in groups by category.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn bars(path: &Path, bars: &Bars) -> Result<()> {
    let count = bars.categories.len();
    let height = 80 + count as u32 * (10 * bars.series.len() as u32 + 8);
    let area = &panels(path, 1, 1, (760, height))?[0];
    let numbers = bars.series.iter().flat_map(|(_, numbers)| numbers.iter().copied());
    let most = numbers.filter(|number| number.is_finite()).fold(0.0, f64::max) * 1.05;
    let mut plot = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(140)
        .build_cartesian_2d(0.0..most, 0.0..count as f64)?;
    plot.configure_mesh().light_line_style(WHITE).disable_y_mesh().disable_y_axis().x_desc(bars.axis).draw()?;
    for (i, (label, numbers)) in bars.series.iter().enumerate() {
        let thickness = 0.8 / bars.series.len() as f64;
        let bar = |(category, number): (usize, &f64)| {
            let bottom = category as f64 + 0.1 + i as f64 * thickness;
            Rectangle::new([(0.0, bottom), (*number, bottom + thickness)], color(i).filled())
        };
        plot.draw_series(numbers.iter().enumerate().filter(|(_, number)| number.is_finite()).map(bar))?
            .label(label.clone())
            .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 12, y + 4)], color(i).filled()));
    }
    let left_of_axis = TextStyle::from((FONT, 12)).pos(Pos::new(HPos::Right, VPos::Center));
    plot.draw_series(bars.categories.iter().enumerate().map(|(category, name)| {
        let at = EmptyElement::at((0.0, category as f64 + 0.5));
        at + Text::new(name.clone(), (-6, 0), left_of_axis.clone())
    }))?;
    plot.configure_series_labels().background_style(WHITE.mix(0.8)).border_style(BLACK).draw()?;
    Ok(())
}

/// Lines over sizes.
pub(super) struct Lines {
    pub(super) title: String,
    /// Name and points of each series.
    pub(super) series: Vec<(String, Vec<(f64, f64)>)>,
}

/// Draws one panel for each chart, four in a row, with equal logarithmic axes.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn lines(path: &Path, axis: &str, charts: &[Lines]) -> Result<()> {
    let all = || charts.iter().flat_map(|chart| &chart.series).flat_map(|(_, points)| points);
    let (x, y) = (span(all().map(|point| point.0)), span(all().map(|point| point.1)));
    let areas = panels(path, 4, charts.len().div_ceil(4), (300, 240))?;
    for (index, (area, chart)) in areas.iter().zip(charts).enumerate() {
        let mut plot = ChartBuilder::on(area)
            .caption(&chart.title, (FONT, 14))
            .margin(8)
            .x_label_area_size(30)
            .y_label_area_size(45)
            .build_cartesian_2d(x.clone().log_scale(), y.clone().log_scale())?;
        plot.configure_mesh()
            .light_line_style(WHITE)
            .x_labels(4)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_desc(axis)
            .draw()?;
        for (i, (label, points)) in chart.series.iter().enumerate() {
            let finite = points.iter().copied().filter(|point| point.1.is_finite());
            plot.draw_series(LineSeries::new(finite, color(i).stroke_width(2)))?
                .label(label.clone())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 12, y)], color(i).stroke_width(2)));
        }
        if index == 0 {
            plot.configure_series_labels()
                .label_font((FONT, 10))
                .background_style(WHITE.mix(0.7))
                .position(SeriesLabelPosition::UpperRight)
                .draw()?;
        }
    }
    Ok(())
}
