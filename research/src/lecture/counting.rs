//! Section 5: the table of the errors of `k` counting queries, measured, beside its lower bounds.
//!
//! The notes give both without constants. The errors are measured here; of the lower bounds what is
//! drawn is the certified least error of one count under each guarantee (`reticent_choice`), which
//! bounds the error of each of `k` counts too, and from it the notes' rate in `k`, which is a rate
//! and no bound. Private multiplicative weights is measured by an experiment of its own.

use crate::format::{long, short};
use crate::ink::inked;
use crate::parallel::repeated;
use crate::sample::Sample;
use crate::{Answer, Cases, Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_choice::{ScalarQuery, SquaredError, limit};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::{
    Delta, Distance, Epsilon, GaussianMechanism, GaussianMethod, Laplace, Mechanism, Neighbours,
    RandomizedResponse, Sensitivity, gaussian_counting_errors, gaussian_overtakes_laplace,
    laplace_counting_errors, randomized_response_counting_errors,
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

/// The root mean square error of the `k` shares, by each mechanism, in one data set of random bits.
/// Every person has `k` bits, so that one person moves every count by one.
fn errors(
    queries: u32,
    people: u32,
    random: &mut dyn RandomBits,
) -> Result<[f64; 3], ReproductionError> {
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
    let l1 =
        Sensitivity::l1_bound(k, Neighbours::AddRemove)?.with_coordinates(queries)?.of_integers();
    let laplace = Laplace::calibrate(&l1, Epsilon::new(EPSILON)?)?.vector_releaser(queries)?;
    let (epsilon, delta, l2) =
        (Epsilon::new(EPSILON)?, Delta::new(DELTA)?, Distance::new(k.sqrt())?);
    let gaussian =
        GaussianMechanism::calibrate(GaussianMethod::Analytic, &l2.into(), (epsilon, delta))?
            .coordinate_releaser(queries)?;
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

/// The simulated errors of a number of queries and people, repeat by repeat, and the predicted
/// ones.
#[derive(Clone)]
struct Cell {
    queries: u32,
    people: u32,
    simulated: Vec<Sample>,
    predicted: [f64; 3],
}

fn simulate(
    setting: &Setting,
    kinds: &[(u32, u32)],
    repeats: u32,
) -> Result<Vec<Cell>, ReproductionError> {
    // Few queries are repeated more often, so that every point rests on 30 errors a repeat at
    // least.
    let times = |queries: u32| repeats as usize * (30 / queries).max(1) as usize;
    let jobs: Vec<(u32, u32)> =
        kinds.iter().flat_map(|kind| std::iter::repeat_n(*kind, times(kind.0))).collect();
    let all = repeated(setting, jobs.len() as u64, |job| {
        let (queries, people) = jobs[job as usize];
        errors(queries, people, &mut setting.random(NAME, job))
    })?;
    let mut cells = Vec::new();
    let mut rest = &all[..];
    for (queries, people) in kinds {
        let (runs, others) = rest.split_at(times(*queries));
        rest = others;
        let simulated = (0..NAMES.len())
            .map(|index| Sample(runs.iter().map(|run| run[index]).collect()))
            .collect();
        cells.push(Cell {
            queries: *queries,
            people: *people,
            simulated,
            predicted: predicted(*queries, *people)?,
        });
    }
    Ok(cells)
}

impl Cell {
    /// The root of the mean square over repeats.
    fn error(&self, index: usize) -> f64 {
        let squares = self.simulated[index].0.iter().map(|error| error * error);
        (squares.sum::<f64>() / self.simulated[index].0.len() as f64).sqrt()
    }
}

pub(crate) fn run(setting: &Setting) -> Result<Outcome, ReproductionError> {
    let by_queries = QUERIES.map(|queries| (queries, PEOPLE));
    let by_people = CROWDS.map(|people| (1, people));
    let cells =
        simulate(setting, &[&by_queries[..], &by_people].concat(), setting.repeats(REPEATS))?;
    let mut table = Table::new(
        "lecture-counting",
        "Root mean square error of a share",
        &["queries", "people", "mechanism", "simulated", "predicted"],
    );
    for cell in &cells {
        for (index, name) in NAMES.iter().enumerate() {
            let figures = [cell.error(index), cell.predicted[index]].map(long);
            table.push(
                [cell.queries.to_string(), cell.people.to_string(), (*name).into()]
                    .into_iter()
                    .chain(figures),
            );
        }
    }
    let (queries, people) = cells.split_at(QUERIES.len());
    let facts = Facts::of(queries, people)?;
    let limits = Limits::computed()?;
    let figure = Figure {
        title: "Counting queries at \u{3b5} = 1: measured errors and lower bounds (lecture notes, \
                Section 5)"
            .into(),
        columns: 2,
        panels: vec![
            panel("2,000 people", "number of queries k", queries, &limits, |cell| cell.queries),
            panel("One query", "number of people n", people, &limits, |cell| cell.people),
        ],
    };
    Ok(Outcome {
        findings: findings(&facts, &limits),
        pictures: vec![("lecture-counting", Picture::Figure(figure))],
        tables: vec![summary(&facts, &limits), table],
    })
}

/// Certified lower bounds of the root mean square error of one count, in people.
#[derive(Clone, Copy)]
struct Limits {
    pure: f64,
    approximate: f64,
}

impl Limits {
    fn computed() -> Result<Self, ReproductionError> {
        let (query, epsilon) = (ScalarQuery::Integer { sensitivity: 1 }, Epsilon::new(EPSILON)?);
        Ok(Limits {
            pure: limit(query, epsilon, None, &SquaredError)?.sqrt(),
            approximate: limit(query, epsilon, Some(Delta::new(DELTA)?), &SquaredError)?.sqrt(),
        })
    }
}

fn panel(
    title: &str,
    label: &str,
    cells: &[Cell],
    limits: &Limits,
    x: impl Fn(&Cell) -> u32,
) -> Panel {
    let line = |value: &dyn Fn(&Cell) -> f64| -> Vec<(f64, f64)> {
        cells.iter().map(|cell| (f64::from(x(cell)), value(cell))).collect()
    };
    let mut series = Vec::new();
    for (index, name) in NAMES.iter().enumerate() {
        series.push(inked(Series::markers(*name, line(&|cell| cell.error(index)))));
    }
    for index in 0..NAMES.len() {
        series.push(Series::reference("exact formula", line(&|cell| cell.predicted[index])));
    }
    let people = |cell: &Cell| f64::from(cell.people);
    series.push(Series::faint(
        "certified least error of one count, pure and approximate",
        line(&|cell| limits.pure / people(cell)),
    ));
    series.push(Series::faint(
        "certified least error of one count, pure and approximate",
        line(&|cell| limits.approximate / people(cell)),
    ));
    let k = |cell: &Cell| f64::from(cell.queries);
    series.push(inked(Series::line(
        "Laplace: rate of the lower bound, k",
        line(&|cell| limits.pure * k(cell) / people(cell)),
    )));
    series.push(inked(Series::line(
        "Gaussian: rate of the lower bound, \u{221a}k",
        line(&|cell| limits.approximate * k(cell).sqrt() / people(cell)),
    )));
    Panel {
        title: title.into(),
        horizontal: Axis::logarithmic(label),
        vertical: Axis::logarithmic("root mean square error of a share"),
        series,
    }
}

/// The table of the notes, with what was measured.
fn summary(facts: &Facts, limits: &Limits) -> Table {
    let columns = [
        "guarantee",
        "mechanism",
        "error per query (notes)",
        "measured exponents of k and n",
        "lower bound (notes)",
        "certified least error of one count",
    ];
    let caption = "How many counting queries can be answered (the table of Section 5)";
    let mut table = Table::new("lecture-table", caption, &columns);
    let exponents = |index: usize| {
        format!("{} and {}", short(facts.by_queries[index]), short(facts.by_people[index]))
    };
    let count = |least: f64| format!("{} people", short(least));
    let rows = [
        ["local epsilon-DP", NAMES[0], "k/(epsilon sqrt n)", "the same in n", &exponents(0), "-"],
        [
            "epsilon-DP",
            NAMES[1],
            "k/(epsilon n)",
            "k/(epsilon n)",
            &exponents(1),
            &count(limits.pure),
        ],
        [
            "(epsilon, delta)-DP",
            "Gaussian",
            "sqrt k/(epsilon n)",
            "sqrt k/(epsilon n)",
            &exponents(2),
            &count(limits.approximate),
        ],
        [
            "(epsilon, delta)-DP",
            "private multiplicative weights",
            "(sqrt(log |X|) log k/(epsilon n))^(1/2)",
            "the same",
            "see lecture-weights",
            &count(limits.approximate),
        ],
    ];
    for [guarantee, mechanism, error, lower, measured, least] in rows {
        table.push([guarantee, mechanism, error, measured, lower, least].map(str::to_owned));
    }
    table
}

/// What the statements are judged by, mechanism by mechanism.
#[derive(Clone)]
struct Facts {
    /// Fitted exponents of `k` and of `n`.
    by_queries: [f64; 3],
    by_people: [f64; 3],
    /// The number of queries from which on Gaussian noise has the smaller variance.
    overtakes: u64,
    /// The cell with the most queries.
    last: Cell,
    /// Number of queries, and the error that the largest of them exceeds with probability 5% in
    /// the `b (ln k + ln(1/0.05))` of Appendix A.
    maxima: Vec<(u64, f64)>,
}

impl Facts {
    fn of(queries: &[Cell], people: &[Cell]) -> Result<Self, ReproductionError> {
        let beta: f64 = 0.05;
        let mut maxima = Vec::new();
        for k in [1u64, 10, 100, 10_000] {
            let errors = laplace_counting_errors(k, Epsilon::new(EPSILON)?, beta)?;
            let union = errors.scale.upper() * ((k as f64).ln() - beta.ln());
            maxima.push((k, errors.maximum.upper() / union));
        }
        let last = queries.last().ok_or(ReproductionError::NotComputed("the errors"))?.clone();
        Ok(Facts {
            by_queries: [0, 1, 2].map(|index| slope(queries, index, |cell| cell.queries)),
            by_people: [0, 1, 2].map(|index| slope(people, index, |cell| cell.people)),
            overtakes: gaussian_overtakes_laplace(Epsilon::new(EPSILON)?, Delta::new(DELTA)?)?,
            last,
            maxima,
        })
    }
}

/// The slope of the logarithm of the error against that of `x`, by least squares.
fn slope(cells: &[Cell], index: usize, x: impl Fn(&Cell) -> u32) -> f64 {
    let points: Vec<(f64, f64)> =
        cells.iter().map(|cell| (f64::from(x(cell)).ln(), cell.error(index).ln())).collect();
    let count = points.len() as f64;
    let (mx, my) = points
        .iter()
        .fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / count, sum.1 + point.1 / count));
    let covariance: f64 = points.iter().map(|point| (point.0 - mx) * (point.1 - my)).sum();
    covariance / points.iter().map(|point| (point.0 - mx).powi(2)).sum::<f64>()
}

fn findings(facts: &Facts, limits: &Limits) -> Vec<Finding> {
    let close = |found: f64, expected: f64| Answer::when((found - expected).abs() < 0.1);
    let cases = |found: &[f64; 3], expected: [(usize, f64); 2]| -> Cases {
        let case = |(index, exponent): (usize, f64)| {
            (NAMES[index].to_string(), close(found[index], exponent))
        };
        expected.into_iter().map(case).collect()
    };
    let [by_queries, by_people] =
        [&facts.by_queries, &facts.by_people].map(|slopes| slopes.map(short));
    let last = &facts.last;
    let maxima: Cases = facts
        .maxima
        .iter()
        .map(|(k, share)| (format!("k = {k}"), Answer::when(*share <= 1.0 + 1e-12)))
        .collect();
    let n = f64::from(last.people);
    let above: Cases = [(1, limits.pure), (2, limits.approximate)]
        .into_iter()
        .map(|(index, limit)| {
            (NAMES[index].to_string(), Answer::when(last.predicted[index] >= limit / n))
        })
        .collect();
    vec![
        Finding::of_paper(
            "Sections 1 and 2.1",
            "For a mean of n bits randomized response has an error of 1/(epsilon sqrt n), the \
             Laplace mechanism 1/(epsilon n).",
            format!("Fitted exponents of n: {} and {}.", by_people[0], by_people[1]),
            Verdict::over(&cases(&facts.by_people, [(0, -0.5), (1, -1.0)])),
        ),
        Finding::of_paper(
            "Sections 2.1, 4.1 and 5",
            "For k counting queries the Laplace mechanism has an error of k/(epsilon n), the \
             Gaussian mechanism sqrt k/(epsilon n).",
            format!(
                "Fitted exponents of k: Laplace {}, Gaussian {}; randomized response {}.",
                by_queries[1], by_queries[2], by_queries[0]
            ),
            Verdict::over(&cases(&facts.by_queries, [(1, 1.0), (2, 0.5)])),
        ),
        Finding::of_paper(
            "Section 4.1",
            "The error of the Gaussian mechanism is a factor of sqrt k smaller than that of the \
             Laplace mechanism.",
            format!(
                "In k; the notes leave out log(1/delta). At {} queries {} against {}, {} times \
                 smaller; at epsilon = 1, delta = 1e-6 it is smaller from {} queries on.",
                last.queries,
                short(last.error(2)),
                short(last.error(1)),
                short(last.error(1) / last.error(2)),
                facts.overtakes
            ),
            Verdict::of(last.simulated[2].below(&last.simulated[1])),
        ),
        Finding::of_paper(
            "Appendix A",
            "The largest of k Laplace errors exceeds b (ln k + A) with probability at most e^-A.",
            format!(
                "What is exceeded with probability 5%, in that bound at k = 1, 10, 100, 10,000: \
                 {}.",
                facts.maxima.iter().map(|row| short(row.1)).collect::<Vec<_>>().join(", ")
            ),
            Verdict::over(&maxima),
        ),
        Finding::of_paper(
            "Section 5, table",
            "Private multiplicative weights beats the Gaussian mechanism where the domain is not \
             too large.",
            "Measured by the experiment lecture-weights.".into(),
            Verdict::Remark,
        ),
        Finding::own(
            "No measured error is below the certified least error of one count.",
            format!(
                "In people: {} for pure DP, {} at delta = 1e-6.",
                short(limits.pure),
                short(limits.approximate)
            ),
            Verdict::over(&above),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests::{assert_each_turns, kinds};

    /// The error of a point rests on 600 draws, and has a relative deviation of at most
    /// `sqrt(5/4/600) = 4.6%`; an exponent fitted over two decades then has one of 0.014. So 0.1 is
    /// seven of them, a false alarm below 1e-11 for each of six.
    #[test]
    fn the_verdicts_of_section_5() {
        let setting = Setting::new(2);
        let queries = simulate(&setting, &[(1, 500), (10, 500), (100, 500)], 20).expect("a result");
        let people = simulate(&setting, &[(1, 100), (1, 1000), (1, 10_000)], 20).expect("a result");
        let (facts, limits) =
            (Facts::of(&queries, &people).expect("facts"), Limits::computed().expect("limits"));
        let real = findings(&facts, &limits);
        let so = "holds";
        assert_eq!(kinds(&real), [so, so, so, so, "a remark, not computed", so], "{real:#?}");
        let mut last = facts.last.clone();
        last.simulated.swap(1, 2);
        let other = Facts {
            by_queries: [0.0; 3],
            by_people: [0.0; 3],
            last,
            maxima: vec![(1, 1.1)],
            ..facts.clone()
        };
        let high = Limits { pure: 1e9, approximate: 1e9 };
        assert_each_turns(&real, &[findings(&other, &high)]);
        assert_eq!(summary(&facts, &limits).rows.len(), 4);
    }

    /// The root mean square of 20 times 100 errors has a relative deviation of at most
    /// `sqrt(5/4/2000) = 2.5%` (Laplace; less for the others): 12.5% is five of them, a false alarm
    /// of 6e-7 each. An error twice as large is rejected.
    #[test]
    fn simulated_errors_are_the_predicted_ones() {
        let cells = simulate(&Setting::new(2), &[(100, 500)], 20).expect("a result");
        for (index, name) in NAMES.iter().enumerate() {
            let ratio = cells[0].error(index) / cells[0].predicted[index];
            assert!((ratio - 1.0).abs() < 0.125, "{name} {ratio}");
        }
    }
}
