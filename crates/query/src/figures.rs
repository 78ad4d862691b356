//! From released statistics to the columns of the aggregate.

use crate::sql::{Formula, Output};
use reticent_release::answer::{
    Estimate, VarianceForm, average, count, standard_deviation, sum, sum_around_centre, variance,
};
use reticent_release::{Grid, ReleasePlan, Released};

/// A figure of the answer: nothing only where a released statistic is missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) value: Option<f64>,
    pub(crate) half_width: Option<f64>,
}

fn estimate(
    formula: &Formula,
    plan: &ReleasePlan,
    released: &Released,
    group: usize,
) -> Option<Estimate> {
    let of = |statistic: usize| released.estimate(plan, statistic, group);
    let grid = |index: usize| -> Option<&Grid> { plan.statistics().get(index)?.statistic().grid() };
    match *formula {
        Formula::Count(index) => Some(count(of(index)?)),
        Formula::Sum { sum: index, count: None } => Some(sum(of(index)?)),
        Formula::Sum { sum: index, count: Some(values) } => {
            Some(sum_around_centre(of(index)?, of(values)?, grid(index)?.centre))
        }
        Formula::Average { sum: index, count: values } => {
            Some(average(of(index)?, of(values)?, grid(index)?))
        }
        Formula::Variance { sum: index, squares, count: values, sample, root } => {
            let form = if sample { VarianceForm::Sample } else { VarianceForm::Population };
            let (deviations, values, squares_grid) = (of(index)?, of(values)?, grid(squares)?);
            let grid = grid(index)?;
            let squares = of(squares)?;
            Some(if root {
                standard_deviation(deviations, squares, values, grid, squares_grid, form)
            } else {
                variance(deviations, squares, values, grid, squares_grid, form)
            })
        }
        Formula::Quantile { .. } => None,
    }
}

/// The columns of the aggregate, one figure for each group that is shown.
pub(crate) fn figures(
    outputs: &[Output],
    plan: &ReleasePlan,
    released: &Released,
) -> Vec<Vec<Figure>> {
    let figure = |formula: &Formula, group: usize| match formula {
        Formula::Quantile { quantiles, point } => {
            let points =
                released.statistics.get(*quantiles).and_then(|noisy| noisy.quantiles(group));
            // How far a quantile is off depends on how dense the data is there, which is private:
            // its error is known in ranks only.
            Figure {
                value: points.and_then(|points| points.get(*point).copied()),
                half_width: None,
            }
        }
        formula => {
            let found = estimate(formula, plan, released, group);
            Figure {
                value: found.map(|found| found.value),
                half_width: found.map(|found| found.half_width),
            }
        }
    };
    let column = |output: &Output| {
        (0..released.kept.len()).map(|group| figure(&output.formula, group)).collect()
    };
    outputs.iter().map(column).collect()
}
