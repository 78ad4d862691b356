use super::*;
use crate::LinearQuery;
use reticent_noise::randomness::SeededRandom;

fn one() -> Epsilon {
    Epsilon::new(1.0).expect("valid")
}

#[test]
fn every_cell_is_in_one_range_of_each_level() {
    for size in [1usize, 2, 5, 16, 17, 100] {
        for branching in [2usize, 3, 16] {
            let tree = LaplaceStrategy::Tree { branching };
            let levels = tree.levels(size);
            for cell in 0..size {
                let ranges = tree.ranges(size);
                let own = ranges.iter().filter(|range| (range.0..range.1).contains(&cell));
                assert_eq!(own.count() as u64, levels, "{size} {branching}");
            }
            assert!(tree.ranges(size).contains(&(0, size)));
        }
    }
}

/// For single cells the error is known: the variance of the noise times the terms of `V`.
#[test]
fn cells_have_the_error_of_their_noise_and_trees_win_for_ranges() {
    let ranges = LinearWorkload::ranges(256).expect("valid");
    let plan = |strategy| {
        LaplacePlan::with(&ranges, &[256], vec![strategy], one(), Contribution::ONE_ROW)
            .expect("certified")
    };
    let cells = plan(LaplaceStrategy::Cells);
    // The mean length of a range is (n + 2)/3.
    let q = (-1f64).exp();
    let expected = (2.0 * q / (1.0 - q).powi(2) * 258.0 / 3.0).sqrt();
    assert!((cells.rmse() / expected - 1.0).abs() < 1e-6, "{} {expected}", cells.rmse());
    assert_eq!(cells.event(), Event::DiscreteLaplace { scale: 1.0, sensitivity: 1 });
    let best = LaplacePlan::new(&ranges, &[256], one(), Contribution::ONE_ROW).expect("certified");
    assert!(best.rmse() < cells.rmse());
    for branching in BRANCHINGS {
        assert!(best.rmse() <= plan(LaplaceStrategy::Tree { branching }).rmse());
    }
}

#[test]
fn a_row_counts_once_at_each_level_of_every_attribute() {
    let all: Vec<LinearQuery> =
        (0..12).map(|cell| LinearQuery::counting([cell]).expect("a cell")).collect();
    let workload = LinearWorkload::of(12, all).expect("valid");
    let tree = LaplaceStrategy::Tree { branching: 2 };
    let unit = Contribution::new(3, Neighbours::Replace).expect("valid");
    let plan = LaplacePlan::with(&workload, &[3, 4], vec![tree, tree], one(), unit).expect("valid");
    // Levels of 1, 2, 4 and of 1, 2, 4: 9, times three rows, replaced.
    assert_eq!(plan.event(), Event::DiscreteLaplace { scale: 54.0, sensitivity: 54 });
    let bad = LaplacePlan::with(&workload, &[3, 5], vec![tree, tree], one(), unit);
    assert!(bad.is_err());
}

/// With the same noise, the sums of neighbours differ by no more than is charged, in l1; and by
/// all of it.
#[test]
fn neighbours_move_the_sums_by_what_is_charged() {
    let workload = LinearWorkload::ranges(10).expect("valid");
    let plan = LaplacePlan::new(&workload, &[10], one(), Contribution::ONE_ROW).expect("valid");
    let mut counts = vec![3u64; 10];
    let measured = |counts: &[u64]| {
        let histogram = ExactHistogram::new(counts.to_vec());
        plan.measure(&histogram, &mut SeededRandom::new(2)).expect("seeded").values
    };
    let before = measured(&counts);
    for cell in 0..10 {
        counts[cell] += 1;
        let moved: f64 = measured(&counts).iter().zip(&before).map(|(a, b)| (a - b).abs()).sum();
        assert_eq!(Some(moved), plan.event().sensitivity());
        counts[cell] -= 1;
    }
}

/// Squared errors against the stated error, and coverage of the half-widths.
#[test]
fn errors_are_as_stated() {
    let workload = LinearWorkload::prefixes(16).expect("valid");
    let plan = LaplacePlan::new(&workload, &[16], one(), Contribution::ONE_ROW).expect("valid");
    let counts: Vec<u64> = (0..16).map(|cell| 10 + cell * cell).collect();
    let exact = workload.answers(&counts.iter().map(|&count| count as f64).collect::<Vec<_>>());
    let mut random = SeededRandom::new(9);
    let releases = 3000;
    let (mut square, mut covered) = (0.0, 0.0);
    for _ in 0..releases {
        let histogram = ExactHistogram::new(counts.clone());
        let released = plan.measure(&histogram, &mut random).expect("seeded").answers();
        let widths = released.half_widths.expect("few queries");
        for ((answer, exact), width) in released.answers.iter().zip(&exact).zip(widths) {
            square += (answer - exact).powi(2);
            covered += f64::from(u8::from((answer - exact).abs() <= width));
        }
    }
    let all = f64::from(releases) * 16.0;
    // The mean over 16 answers of a release deviates by at most sqrt(5) of itself (Laplace
    // noise has a kurtosis of 6), in 3000 releases 4%: six deviations, once in 5e8 seeds.
    let ratio = (square / all).sqrt() / plan.rmse();
    assert!((ratio - 1.0).abs() < 0.12, "{ratio}");
    assert!(covered / all > 0.95, "{}", covered / all);
}
