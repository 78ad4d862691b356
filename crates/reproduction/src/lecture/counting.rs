//! Section 5: the error of `k` counting queries by randomized response, Laplace and Gaussian noise.

use crate::format::{long, short};
use crate::parallel::repeated;
use crate::sample::Sample;
use crate::{Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::{
    Delta, Distance, Epsilon, GaussianMechanism, GaussianMethod, Laplace, Mechanism, Neighbours, RandomizedResponse,
    Sensitivity, gaussian_counting_errors, gaussian_overtakes_laplace, laplace_counting_errors,
    randomized_response_counting_errors,
};
use reticent_noise::randomness::RandomBits;

pub(crate) const NAME: &str = "lecture-counting";

const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-6;
const PEOPLE: u32 = 2000;
const QUERIES: [u32; 6] = [1, 3, 10, 30, 100, 300];
const CROWDS: [u32; 5] = [100, 300, 1000, 3000, 10_000];
const REPEATS: u32 = 40;
const NAMES: [&str; 3] = ["randomized response", "Laplace", "Gaussian, \u{3b4} = 1e-6"];

/// The root mean square error of the `k` shares, by each mechanism, in one data set of random bits. Every person has `k` bits, so that one person moves every count by one.
fn errors(queries: u32, people: u32, random: &mut dyn RandomBits) -> Result<[f64; 3], ReproductionError> {
    let k = f64::from(queries);
    let response = RandomizedResponse::new(2, Epsilon::new(EPSILON / k)?)?;
    let (mut truth, mut squares) = (Vec::new(), [0.0; 3]);
    let n = f64::from(people);
    for _ in 0..queries {
        let (mut ones, mut answered) = (0u64, [0u64; 2]);
        for _ in 0..people {
            let bit = random.next_u64()? & 1;
            ones += bit;
            answered[response.respond(bit, random)? as usize] += 1;
        }
        let estimate = response.frequencies(&answered)?[1].frequency.estimate();
        squares[0] += (estimate - ones as f64 / n).powi(2);
        truth.push(ones as f64);
    }
    let l1 = Sensitivity::l1_bound(k, Neighbours::AddRemove)?.with_coordinates(queries)?.of_integers();
    let laplace = Laplace::calibrate(&l1, Epsilon::new(EPSILON)?)?.vector_releaser(queries)?;
    let (epsilon, delta, l2) = (Epsilon::new(EPSILON)?, Delta::new(DELTA)?, Distance::new(k.sqrt())?);
    let gaussian =
        GaussianMechanism::calibrate(GaussianMethod::Analytic, epsilon, delta, l2)?.coordinate_releaser(queries)?;
    for count in &truth {
        squares[1] += ((laplace.release(*count, random)? - count) / n).powi(2);
        squares[2] += ((gaussian.release(*count, random)? - count) / n).powi(2);
    }
    Ok(squares.map(|sum| (sum / k).sqrt()))
}

/// The predicted root mean square errors, by exact formulas.
fn predicted(queries: u32, people: u32) -> Result<[f64; 3], ReproductionError> {
    let (k, n) = (u64::from(queries), u64::from(people));
    let (epsilon, delta) = (Epsilon::new(EPSILON)?, Delta::new(DELTA)?);
    // The probability that a maximum is exceeded, which is not used here.
    let beta = 0.05;
    let errors = [
        randomized_response_counting_errors(k, n, epsilon, beta)?,
        laplace_counting_errors(k, epsilon, beta)?,
        gaussian_counting_errors(k, epsilon, delta, beta)?,
    ];
    Ok(errors.map(|errors| errors.root_mean_square.estimate() / n as f64))
}

/// The simulated errors of a number of queries and people, repeat by repeat, and the predicted ones.
struct Cell {
    queries: u32,
    people: u32,
    simulated: Vec<Sample>,
    predicted: [f64; 3],
}

fn simulate(setting: &Setting, kinds: &[(u32, u32)], repeats: u32) -> Result<Vec<Cell>, ReproductionError> {
    // Few queries are repeated more often, so that every point rests on 30 errors a repeat at least.
    let times = |queries: u32| repeats as usize * (30 / queries).max(1) as usize;
    let jobs: Vec<(u32, u32)> = kinds.iter().flat_map(|kind| std::iter::repeat_n(*kind, times(kind.0))).collect();
    let all = repeated(setting, jobs.len() as u64, |job| {
        let (queries, people) = jobs[job as usize];
        errors(queries, people, &mut setting.random(NAME, job))
    })?;
    let mut cells = Vec::new();
    let mut rest = &all[..];
    for (queries, people) in kinds {
        let (runs, others) = rest.split_at(times(*queries));
        rest = others;
        let simulated = (0..NAMES.len()).map(|place| Sample(runs.iter().map(|run| run[place]).collect())).collect();
        cells.push(Cell { queries: *queries, people: *people, simulated, predicted: predicted(*queries, *people)? });
    }
    Ok(cells)
}

impl Cell {
    /// The root of the mean square over repeats.
    fn error(&self, place: usize) -> f64 {
        let squares = self.simulated[place].0.iter().map(|error| error * error);
        (squares.sum::<f64>() / self.simulated[place].0.len() as f64).sqrt()
    }
}

pub(crate) fn run(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let by_queries = QUERIES.map(|queries| (queries, PEOPLE));
    let by_people = CROWDS.map(|people| (1, people));
    let cells = simulate(setting, &[&by_queries[..], &by_people].concat(), setting.repeats(REPEATS))?;
    let mut table = Table::new(
        "lecture-counting",
        "Root mean square error of a share",
        &["queries", "people", "mechanism", "simulated", "predicted"],
    );
    for cell in &cells {
        for (place, name) in NAMES.iter().enumerate() {
            let figures = [cell.error(place), cell.predicted[place]].map(long);
            table.push([cell.queries.to_string(), cell.people.to_string(), (*name).into()].into_iter().chain(figures));
        }
    }
    let (queries, people) = cells.split_at(QUERIES.len());
    let panel = |title: &str, label: &str, cells: &[Cell], x: &dyn Fn(&Cell) -> u32| {
        let mut series = Vec::new();
        for (place, name) in NAMES.iter().enumerate() {
            let points = cells.iter().map(|cell| (f64::from(x(cell)), cell.error(place))).collect();
            series.push(Series::markers(*name, points));
        }
        for place in 0..NAMES.len() {
            let points = cells.iter().map(|cell| (f64::from(x(cell)), cell.predicted[place])).collect();
            series.push(Series::reference("predicted", points));
        }
        Panel {
            title: title.into(),
            horizontal: Axis::logarithmic(label),
            vertical: Axis::logarithmic("root mean square error of a share"),
            series,
        }
    };
    let figure = Figure {
        title: "Counting queries at \u{3b5} = 1 (lecture notes, Section 5)".into(),
        columns: 2,
        panels: vec![
            panel("2,000 people", "number of queries k", queries, &|cell| cell.queries),
            panel("One query", "number of people n", people, &|cell| cell.people),
        ],
    };
    Ok(Outcome {
        findings: findings(queries, people)?,
        pictures: vec![("lecture-counting", Picture::Figure(figure))],
        tables: vec![table],
    })
}

/// The slope of the logarithm of the error against that of `x`, by least squares.
fn slope(cells: &[Cell], place: usize, x: impl Fn(&Cell) -> u32) -> f64 {
    let points: Vec<(f64, f64)> = cells.iter().map(|cell| (f64::from(x(cell)).ln(), cell.error(place).ln())).collect();
    let count = points.len() as f64;
    let (mx, my) = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / count, sum.1 + point.1 / count));
    let covariance: f64 = points.iter().map(|point| (point.0 - mx) * (point.1 - my)).sum();
    covariance / points.iter().map(|point| (point.0 - mx).powi(2)).sum::<f64>()
}

fn findings(queries: &[Cell], people: &[Cell]) -> Result<Vec<Finding>, ReproductionError> {
    let by_queries = [0, 1, 2].map(|place| slope(queries, place, |cell| cell.queries));
    let by_people = [0, 1, 2].map(|place| slope(people, place, |cell| cell.people));
    let close = |found: f64, expected: f64| (found - expected).abs() < 0.1;
    let overtakes = gaussian_overtakes_laplace(Epsilon::new(EPSILON)?, Delta::new(DELTA)?)?;
    let Some(last) = queries.last() else { return Ok(Vec::new()) };
    Ok(vec![
        Finding::computed(
            "Randomized response has an error of 1/(epsilon sqrt n), Laplace noise 1/(epsilon n).",
            format!(
                "Fitted exponents of n: randomized response {}, Laplace {}, Gaussian {}.",
                short(by_people[0]),
                short(by_people[1]),
                short(by_people[2])
            ),
            Verdict::Holds,
            close(by_people[0], -0.5) && close(by_people[1], -1.0) && close(by_people[2], -1.0),
        ),
        Finding::computed(
            "For k queries Laplace noise has an error of k/(epsilon n), Gaussian noise sqrt(k)/(epsilon n).",
            format!(
                "Fitted exponents of k: Laplace {}, Gaussian {}, randomized response {}.",
                short(by_queries[1]),
                short(by_queries[2]),
                short(by_queries[0])
            ),
            Verdict::Holds,
            close(by_queries[1], 1.0) && close(by_queries[2], 0.5) && close(by_queries[0], 1.0),
        ),
        Finding::simulated(
            "For many queries Gaussian noise is better than Laplace noise, and both than randomized response.",
            format!(
                "Gaussian noise has the smaller variance from {overtakes} queries on. At 300 queries: {} against {} and {}.",
                short(last.error(2)),
                short(last.error(1)),
                short(last.error(0))
            ),
            Verdict::Holds,
            last.simulated[2]
                .margin_below(&last.simulated[1])
                .least(last.simulated[1].margin_below(&last.simulated[0])),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of a point rests on 600 draws, and has a relative deviation of at most `sqrt(5/4/600) = 4.6%`; an exponent fitted over two decades then has one of 0.014. So 0.1
    /// is seven of them, a false alarm below 1e-11 for each of six.
    #[test]
    fn the_claims_of_section_5() {
        let setting = Setting::new(2);
        let queries = simulate(&setting, &[(1, 500), (10, 500), (100, 500)], 20).expect("a result");
        let people = simulate(&setting, &[(1, 100), (1, 1000), (1, 10_000)], 20).expect("a result");
        crate::finding::assert_all_shown(&findings(&queries, &people).expect("a result"));
    }

    /// The root mean square of 20 times 100 errors has a relative deviation of at most `sqrt(5/4/2000) = 2.5%` (Laplace; less for the others): 12.5% is five of them,
    /// a false alarm of 6e-7 each. An error twice as large is rejected.
    #[test]
    fn simulated_errors_are_the_predicted_ones() {
        let cells = simulate(&Setting::new(2), &[(100, 500)], 20).expect("a result");
        for (place, name) in NAMES.iter().enumerate() {
            let ratio = cells[0].error(place) / cells[0].predicted[place];
            assert!((ratio - 1.0).abs() < 0.125, "{name} {ratio}");
        }
    }
}
