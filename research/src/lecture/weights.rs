//! Section 5: private multiplicative weights in the table of `k` counting queries, measured.
//!
//! The domain are 12 truth values, 4096 cells; the queries count who has given values of up to six
//! of them, in the order of how many they name: up to 94,448 queries. Measured is the largest error
//! of all of them. Of randomized response, which would take 10^9 answers, the errors are drawn from
//! their normal limit.

use crate::format::{long, short};
use crate::ink::inked;
use crate::parallel::repeated;
use crate::sample::Sample;
use crate::{Answer, Cases, Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_accounting::{Filter, FilterBudget};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::{
    Delta, Epsilon, gaussian_counting_errors, laplace_counting_errors,
    randomized_response_counting_errors,
};
use reticent_noise::randomness::{RandomBits, SeededRandom};
use reticent_noise::{Gaussian, Laplace, Lattice, Sampler};
use reticent_workloads::{
    Contribution, ExactHistogram, LinearQuery, MwemPlan, OnlineWeights, Selection,
};

pub(crate) const NAME: &str = "lecture-weights";

const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-6;
const PEOPLE: u64 = 20_000;
const ATTRIBUTES: u32 = 12;
const CELLS: usize = 1 << ATTRIBUTES;
/// All queries of up to two, three, .. six attributes, and the first hundred.
const QUERIES: [usize; 6] = [100, 288, 2048, 9968, 35_312, 94_448];
const ROUNDS: u32 = 16;
const REPEATS: u32 = 12;
/// With this probability an answer of a session may be off by more than is stated.
const BETA: f64 = 0.05;
const NAMES: [&str; 5] = [
    "randomized response",
    "Laplace",
    "Gaussian, \u{3b4} = 1e-6",
    "multiplicative weights (MWEM)",
    "multiplicative weights, online",
];

/// The first `count` queries: those that name fewer attributes first.
fn queries(count: usize) -> Result<Vec<LinearQuery>, ReproductionError> {
    let mut found = Vec::new();
    for width in 1..=ATTRIBUTES {
        for mask in (0u32..1 << ATTRIBUTES).filter(|mask| mask.count_ones() == width) {
            // All values of the attributes of the mask: its subsets.
            let mut values = mask;
            loop {
                if found.len() == count {
                    return Ok(found);
                }
                let cells = (0..CELLS).filter(|cell| *cell as u32 & mask == values);
                found.push(LinearQuery::counting(cells)?);
                if values == 0 {
                    break;
                }
                values = (values - 1) & mask;
            }
        }
    }
    Ok(found)
}

/// People in three groups, each with its own shares of the twelve truth values.
fn people(random: &mut SeededRandom) -> Result<Vec<u64>, ReproductionError> {
    let mut counts = vec![0; CELLS];
    for _ in 0..PEOPLE {
        let group = [0u64, 0, 0, 0, 0, 1, 1, 1, 2, 2][(random.next_u64()? % 10) as usize];
        let mut cell = 0;
        for attribute in 0..u64::from(ATTRIBUTES) {
            let share = 10 + (attribute * 37 + group * 53) % 80;
            cell = 2 * cell + usize::from(random.next_u64()? % 100 < share);
        }
        counts[cell] += 1;
    }
    Ok(counts)
}

/// The `rho` that the mechanisms in zCDP spend: it converts to `(EPSILON, DELTA)`.
fn rho() -> Result<f64, ReproductionError> {
    let delta = Delta::new(DELTA)?;
    let fits = |rho: f64| {
        Filter::new(FilterBudget::ZeroConcentrated { rho })
            .and_then(|filter| filter.epsilon(delta))
            .is_ok_and(|epsilon| epsilon <= EPSILON)
    };
    let (mut low, mut high) = (1e-6, EPSILON);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if fits(middle) { low = middle } else { high = middle }
    }
    if fits(low) { Ok(low) } else { Err(ReproductionError::NotComputed("the budget in rho")) }
}

/// What one run measured: the largest errors, in people, and the error that the session stated.
struct Measured {
    largest: [f64; 5],
    stated: f64,
}

fn largest_of_noise(
    sampler: &mut dyn FnMut() -> Result<f64, ReproductionError>,
    count: usize,
) -> Result<f64, ReproductionError> {
    (0..count).try_fold(0.0, |most: f64, _| Ok(most.max(sampler()?.abs())))
}

fn measured(
    queries: &[LinearQuery],
    rho: f64,
    random: &mut SeededRandom,
) -> Result<Measured, ReproductionError> {
    let k = queries.len();
    let (epsilon, delta) = (Epsilon::new(EPSILON)?, Delta::new(DELTA)?);
    let lattice = Lattice::of_spacing_power(-20)?;
    let step = 2f64.powi(-20);
    let response = randomized_response_counting_errors(k as u64, PEOPLE, epsilon, BETA)?;
    let normal = |sigma: f64| Sampler::new(Gaussian, sigma, lattice);
    let of_response = normal(response.root_mean_square.estimate())?;
    let gaussian = normal(gaussian_counting_errors(k as u64, epsilon, delta, BETA)?.scale.upper())?;
    let scale = laplace_counting_errors(k as u64, epsilon, BETA)?.scale.upper();
    let laplace = Sampler::new(Laplace, scale, lattice)?;
    let first = largest_of_noise(&mut || Ok(of_response.draw(random)? as f64 * step), k)?;
    let second = largest_of_noise(&mut || Ok(laplace.draw(random)? as f64 * step), k)?;
    let third = largest_of_noise(&mut || Ok(gaussian.draw(random)? as f64 * step), k)?;

    let counts = people(random)?;
    let exact: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
    let budget = FilterBudget::ZeroConcentrated { rho };
    let unit = Contribution::ONE_ROW;
    let plan =
        MwemPlan::new(CELLS, queries.to_vec(), ROUNDS, Selection::Exponential, budget, unit)?;
    let run = plan.run(&ExactHistogram::new(counts.clone()), random)?;
    drop(plan);
    let error = |query: &LinearQuery| (query.answer(&run.histogram) - query.answer(&exact)).abs();
    let fourth = queries.iter().map(error).fold(0.0, f64::max);

    let histogram = ExactHistogram::new(counts);
    let mut session = OnlineWeights::new(histogram, budget, unit, k as u64, BETA, random)?;
    let mut fifth: f64 = 0.0;
    for query in queries {
        let answer = session.answer(query, random)?;
        fifth = fifth.max((answer.value - query.answer(&exact)).abs());
    }
    let largest = [first, second, third, fourth, fifth];
    Ok(Measured { largest, stated: session.bounds().error })
}

/// The largest errors for a number of queries, run by run.
#[derive(Clone)]
struct Cell {
    queries: usize,
    largest: Vec<Sample>,
    stated: Sample,
}

impl Cell {
    fn mean(&self, place: usize) -> f64 {
        self.largest[place].mean()
    }
}

fn simulate(
    setting: &Setting,
    counts: &[usize],
    repeats: u32,
) -> Result<Vec<Cell>, ReproductionError> {
    let most = counts.iter().copied().max().unwrap_or(0);
    let (queries, rho) = (queries(most)?, rho()?);
    let jobs: Vec<usize> =
        counts.iter().flat_map(|count| std::iter::repeat_n(*count, repeats as usize)).collect();
    let all = repeated(setting, jobs.len() as u64, |job| {
        let own = &queries[..jobs[job as usize].min(queries.len())];
        measured(own, rho, &mut setting.random(NAME, job))
    })?;
    let runs = all.chunks(repeats as usize).zip(counts);
    Ok(runs
        .map(|(runs, &queries)| Cell {
            queries,
            largest: (0..NAMES.len())
                .map(|place| Sample(runs.iter().map(|run| run.largest[place]).collect()))
                .collect(),
            stated: Sample(runs.iter().map(|run| run.stated).collect()),
        })
        .collect())
}

/// The rate of the notes, without its constant, in people: `n (sqrt(ln N) ln k/(epsilon n))^(1/2)`.
fn rate(queries: f64) -> f64 {
    let n = PEOPLE as f64;
    (n * (CELLS as f64).ln().sqrt() * queries.ln() / EPSILON).sqrt()
}

/// The number of queries from which on the rate is below what the largest error of Gaussian noise
/// exceeds with probability 5%.
fn predicted_crossing() -> Result<u64, ReproductionError> {
    let (epsilon, delta) = (Epsilon::new(EPSILON)?, Delta::new(DELTA)?);
    let (mut low, mut high) = (2u64, 1 << 30);
    while low < high {
        let middle = low + (high - low) / 2;
        let gaussian = gaussian_counting_errors(middle, epsilon, delta, BETA)?.maximum.estimate();
        if gaussian > rate(middle as f64) { high = middle } else { low = middle + 1 }
    }
    Ok(low)
}

pub(crate) fn run(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let cells = simulate(setting, &QUERIES, setting.repeats(REPEATS))?;
    let mut table = Table::new(
        NAME,
        "Largest error of k counting queries, in people of 20,000: mean over runs",
        &["queries", "mechanism", "largest error"],
    );
    for cell in &cells {
        for (place, name) in NAMES.iter().enumerate() {
            table.push([cell.queries.to_string(), (*name).into(), long(cell.mean(place))]);
        }
    }
    let line = |value: &dyn Fn(&Cell) -> f64| -> Vec<(f64, f64)> {
        cells.iter().map(|cell| (cell.queries as f64, value(cell))).collect()
    };
    let mut series: Vec<Series> = NAMES
        .iter()
        .enumerate()
        .map(|(place, name)| inked(Series::markers(*name, line(&|cell| cell.mean(place)))))
        .collect();
    let first = cells.first().ok_or(ReproductionError::NotComputed("the errors"))?;
    let k = |cell: &Cell| cell.queries as f64;
    let anchored = |place: usize, growth: &dyn Fn(f64) -> f64| {
        let start = first.mean(place) / growth(k(first));
        line(&|cell| start * growth(k(cell)))
    };
    series.push(Series::reference("rates of the notes: k", anchored(1, &|k| k)));
    series.push(Series::reference("rates of the notes: \u{221a}k", anchored(2, &f64::sqrt)));
    series.push(inked(Series::line(
        "weights: rate of the notes, \u{221a}(n \u{221a}log|X| log k/\u{3b5})",
        line(&|cell| rate(k(cell))),
    )));
    series.push(Series::faint(
        "weights, online: error stated beforehand",
        line(&|cell| cell.stated.mean()),
    ));
    let figure = Figure {
        title: "The largest error of k counting queries on 4,096 cells at \u{3b5} = 1 (lecture \
                notes, Section 5)"
            .into(),
        columns: 1,
        panels: vec![Panel {
            title: "20,000 people".into(),
            horizontal: Axis::logarithmic("number of queries k"),
            vertical: Axis::logarithmic("largest error, in people"),
            series,
        }],
    };
    Ok(Outcome {
        findings: findings(&cells, predicted_crossing()?),
        pictures: vec![(NAME, Picture::Figure(figure))],
        tables: vec![table],
    })
}

/// The slope of the logarithm of the largest error against that of `k`, from the first to the last.
fn exponent(cells: &[Cell], place: usize) -> f64 {
    match (cells.first(), cells.last()) {
        (Some(first), Some(last)) => {
            (last.mean(place) / first.mean(place)).ln()
                / (last.queries as f64 / first.queries as f64).ln()
        }
        _ => f64::NAN,
    }
}

fn findings(cells: &[Cell], crossing: u64) -> Vec<Finding> {
    let after: Cases = cells
        .iter()
        .filter(|cell| cell.queries as u64 >= crossing)
        .flat_map(|cell| {
            [1, 2].map(|place| {
                let name = format!("{} at k = {}", NAMES[place], cell.queries);
                (name, cell.largest[3].below(&cell.largest[place]))
            })
        })
        .collect();
    let last = |place: usize| cells.last().map_or(f64::NAN, |cell| cell.mean(place));
    let exponents = [1, 2, 3].map(|place| exponent(cells, place));
    let grows: Cases = [(1, 1.0), (2, 0.5)]
        .into_iter()
        .map(|(place, expected): (usize, f64)| {
            // The maximum of k noises adds a logarithm to the rate of one.
            let found = exponents[place - 1];
            (NAMES[place].to_string(), Answer::when((expected..expected + 0.15).contains(&found)))
        })
        .chain([(NAMES[3].to_string(), Answer::when(exponents[2] < 0.25))])
        .collect();
    let kept: Cases = cells
        .iter()
        .map(|cell| {
            let pairs = cell.largest[4].0.iter().zip(&cell.stated.0);
            let within = pairs.clone().filter(|(error, stated)| error <= stated).count();
            // Each run may fail with probability 5%: of twelve, more than six once in 10^6.
            (format!("k = {}", cell.queries), Answer::when(2 * within >= pairs.count()))
        })
        .collect();
    vec![
        Finding::of_paper(
            "Section 5, table",
            "Private multiplicative weights has an error of (sqrt(log |X|) log k/(epsilon \
             n))^(1/2), below the Gaussian mechanism's from some number of queries on.",
            format!(
                "By that rate, without its constant, from k = {crossing} on. At the last k the \
                 largest errors are {} for MWEM, {} for Gaussian and {} for Laplace noise, of \
                 20,000 people.",
                short(last(3)),
                short(last(2)),
                short(last(1))
            ),
            Verdict::over(&after),
        ),
        Finding::own(
            "The largest error of Laplace noise grows like k, of Gaussian noise like sqrt k, both \
             up to a logarithm, and of multiplicative weights more slowly than any such power.",
            format!(
                "Exponents of k from {} to {}: {}.",
                cells.first().map_or(0, |cell| cell.queries),
                cells.last().map_or(0, |cell| cell.queries),
                exponents.map(short).join(", ")
            ),
            Verdict::over(&grows),
        ),
        Finding::own(
            "No answer of an online session is off by more than was stated beforehand.",
            "The session may fail with probability 5%.".into(),
            Verdict::over(&kept),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::{assert_each_turns, kinds};

    #[test]
    fn queries_are_ordered_by_how_many_attributes_they_name() {
        let found = queries(2048).expect("queries");
        assert_eq!(found.len(), 2048);
        assert!(found[..24].iter().all(|query| query.terms().len() == CELLS / 2));
        assert!(found[24..288].iter().all(|query| query.terms().len() == CELLS / 4));
        assert!(found[288..].iter().all(|query| query.terms().len() == CELLS / 8));
    }

    #[test]
    fn the_verdicts_turn_on_other_data() {
        let cell = |queries: usize, factor: f64, stated: f64| {
            let k = queries as f64;
            let errors = [50.0 * k, 9.0 * k.powf(1.07), 15.0 * k.powf(0.55), 300.0 * factor, 5e3];
            let sample =
                |mean: f64| Sample((0..12).map(|i| mean * (1.0 + f64::from(i) / 1e3)).collect());
            Cell { queries, largest: errors.map(sample).to_vec(), stated: sample(stated) }
        };
        let cells = QUERIES.map(|queries| cell(queries, 1.0, 9e3));
        let real = findings(&cells, 2000);
        assert_eq!(kinds(&real), ["holds"; 3], "{real:#?}");
        let bad = QUERIES.map(|queries| {
            let mut bad = cell(queries, (queries as f64).powf(1.5), 1e3);
            bad.largest.swap(1, 2);
            bad
        });
        assert_each_turns(&real, &[findings(&bad, 2000)]);
    }

    /// On a few queries, once: the session keeps what it states, and the budget is what it says.
    #[test]
    fn one_run_of_all_mechanisms() {
        let rho = rho().expect("a budget");
        assert!((0.01..0.03).contains(&rho), "{rho}");
        let run = measured(&queries(100).expect("queries"), rho, &mut SeededRandom::new(3));
        let run = run.expect("measured");
        assert!(run.largest.iter().all(|error| *error > 0.0 && error.is_finite()));
        assert!(run.largest[4] <= run.stated);
        // Scales of 100 and 42, the largest of a hundred draws.
        assert!((200.0..1200.0).contains(&run.largest[1]) && run.largest[2] < 300.0);
        let crossing = predicted_crossing().expect("found");
        assert!((200..20_000).contains(&crossing), "{crossing}");
    }
}
