//! From released statistics to the columns of the aggregate.

use crate::engine::Measure;
use crate::sql::{Formula, Output};
use reticent_release::answer::{
    Estimate, VarianceForm, average, count, standard_deviation, sum, sum_around_centre, variance,
};
use reticent_release::{Grid, Plan, Released, Statistic};

/// A figure of the answer: nothing only where a released statistic is missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) value: Option<f64>,
    pub(crate) half_width: Option<f64>,
}

fn grid_of(measures: &[Measure], place: usize) -> Option<Grid> {
    match measures.get(place)?.statistic {
        Statistic::Sum { grid, .. } | Statistic::Quantiles { grid, .. } => Some(grid),
        Statistic::Count { .. } | Statistic::Units => None,
    }
}

fn estimate(
    formula: &Formula,
    measures: &[Measure],
    plan: &Plan,
    released: &Released,
    group: usize,
) -> Option<Estimate> {
    let of = |statistic: usize| released.estimate(plan, statistic, group);
    match *formula {
        Formula::Count(place) => Some(count(of(place)?)),
        Formula::Sum { sum: place, count: None } => Some(sum(of(place)?)),
        Formula::Sum { sum: place, count: Some(values) } => {
            Some(sum_around_centre(of(place)?, of(values)?, grid_of(measures, place)?.centre))
        }
        Formula::Average { sum: place, count: values } => {
            Some(average(of(place)?, of(values)?, &grid_of(measures, place)?))
        }
        Formula::Spread { sum: place, squares, count: values, sample, root } => {
            let form = if sample { VarianceForm::Sample } else { VarianceForm::Population };
            let (deviations, values, grid) = (of(place)?, of(values)?, grid_of(measures, place)?);
            let squares_of = grid_of(measures, squares)?;
            let squares = of(squares)?;
            Some(if root {
                standard_deviation(deviations, squares, values, &grid, &squares_of, form)
            } else {
                variance(deviations, squares, values, &grid, &squares_of, form)
            })
        }
        Formula::Quantile { .. } => None,
    }
}

/// The columns of the aggregate, one figure for each group that is shown.
pub(crate) fn figures(outputs: &[Output], measures: &[Measure], plan: &Plan, released: &Released) -> Vec<Vec<Figure>> {
    let figure = |formula: &Formula, group: usize| match formula {
        Formula::Quantile { quantiles, point } => {
            let points = released.statistics.get(*quantiles).and_then(|noisy| noisy.quantiles(group));
            // How far a quantile is off depends on how dense the data is there, which is private: its error is known in ranks only.
            Figure { value: points.and_then(|points| points.get(*point).copied()), half_width: None }
        }
        formula => {
            let found = estimate(formula, measures, plan, released, group);
            Figure { value: found.map(|found| found.value), half_width: found.map(|found| found.half_width) }
        }
    };
    let column = |output: &Output| (0..released.kept.len()).map(|group| figure(&output.formula, group)).collect();
    outputs.iter().map(column).collect()
}
