use super::*;
use reticent_noise::randomness::SeededRandom;

fn search(points: &[f64], epsilon: f64, max_rows: u32) -> QuantileSearch {
    let grid = Grid { centre: 0.0, step: 1.0, lower: -3, upper: 12 };
    QuantileSearch { grid, points: points.to_vec(), max_rows, epsilon }
}

/// A cut as a number of values below it, and where it is.
#[derive(Clone, Copy)]
struct Cut {
    point: i64,
    share: u64,
    quantile: f64,
}

const START: Cut = Cut { point: -3, share: 0, quantile: 0.0 };
const END: Cut = Cut { point: 12, share: SHARES, quantile: 1.0 };

fn rank(values: &[(i64, u64)], point: i64, share: u64) -> f64 {
    let count = |holds: &dyn Fn(i64) -> bool| {
        values.iter().filter(|v| holds(v.0)).map(|v| v.1 as f64).sum::<f64>()
    };
    count(&|v| v < point) + share as f64 / SHARES as f64 * count(&|v| v == point)
}

/// The probabilities of all points, or of all shares of one, straight from the definition.
fn law(
    search: &QuantileSearch,
    values: &[(i64, u64)],
    between: (Cut, Cut),
    q: f64,
    at: Option<i64>,
) -> Vec<f64> {
    let (low, high) = between;
    let (from, to) = (rank(values, low.point, low.share), rank(values, high.point, high.share));
    let s = (q - low.quantile) / (high.quantile - low.quantile);
    let target = from + s * (to - from);
    let epsilon = if at.is_some() { 0.25 * search.epsilon } else { search.epsilon };
    let c = epsilon / (2.0 * f64::from(search.max_rows) * s.max(1.0 - s));
    let inside = |point: i64, share: u64| {
        (low.point, low.share) <= (point, share) && (point, share) <= (high.point, high.share)
    };
    let weights: Vec<f64> =
        match at {
            None => (search.grid.lower..=search.grid.upper)
                .map(|x| {
                    if x < low.point || x > high.point {
                        return 0.0;
                    }
                    let (a, b) = (rank(values, x, 0).max(from), rank(values, x, SHARES).min(to));
                    (-c * (target - b).max(a - target).max(0.0)).exp()
                })
                .collect(),
            Some(x) => (0..=SHARES)
                .map(|f| {
                    if inside(x, f) {
                        (-c * (rank(values, x, f) - target).abs()).exp()
                    } else {
                        0.0
                    }
                })
                .collect(),
        };
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

#[test]
fn points_are_chosen_with_the_probabilities_of_the_definition() {
    let cases: [(f64, &[(i64, u64)]); 5] = [
        (0.5, &[(-3, 2), (0, 5), (1, 1), (9, 4), (12, 1)]),
        (0.9, &[(4, 10)]),
        (0.0, &[(5, 3), (6, 3)]),
        (1.0, &[]),
        (0.25, &[(-3, 1), (-2, 1), (11, 7)]),
    ];
    for (seed, (point, values)) in cases.into_iter().enumerate() {
        let (one, mut random, tries) =
            (search(&[point], 1.0, 2), SeededRandom::new(seed as u64), 60_000);
        let mut counts = [0f64; 16];
        for _ in 0..tries {
            counts[(one.draw(values, &mut random).expect("seeded")[0] + 3.0) as usize] += 1.0;
        }
        let worst = |law: &[f64]| {
            let z = |(count, p): (&f64, &f64)| {
                (count - f64::from(tries) * p).abs() / (f64::from(tries) * p).sqrt()
            };
            counts.iter().zip(law).map(z).fold(0.0, f64::max)
        };
        // Six standard deviations, 80 cells: a false alarm once in 6e6 seeds.
        let exact = law(&one, values, (START, END), point, None);
        assert!(worst(&exact) < 6.0, "{point} {values:?}: {counts:?}");
        // Power: half the sharpness is noticed, where there is something to be sharp about.
        let blunt = law(&search(&[point], 0.5, 2), values, (START, END), point, None);
        assert!(values.is_empty() || worst(&blunt) > 6.0, "{point}: no power");
    }
}

/// Three quantiles: how often each pair of the middle and the lower one comes out, against the
/// definition summed over all shares.
#[test]
fn later_quantiles_follow_the_definition_too() {
    let values: &[(i64, u64)] = &[(-3, 4), (2, 9), (3, 1), (7, 2)];
    let (three, mut random, tries) =
        (search(&[0.25, 0.5, 0.75], 0.5, 1), SeededRandom::new(21), 60_000);
    let mut counts = vec![0f64; 256];
    for _ in 0..tries {
        let found = three.draw(values, &mut random).expect("seeded");
        counts[(16.0 * (found[1] + 3.0) + found[0] + 3.0) as usize] += 1.0;
    }
    let mut exact = vec![0f64; 256];
    for (x, p) in (-3..=12).zip(law(&three, values, (START, END), 0.5, None)) {
        for (share, p_share) in (0..=SHARES).zip(law(&three, values, (START, END), 0.5, Some(x))) {
            let cut = Cut { point: x, share, quantile: 0.5 };
            for (y, p_lower) in (0..16).zip(law(&three, values, (START, cut), 0.25, None)) {
                exact[(16 * (x + 3) + y) as usize] += p * p_share * p_lower;
            }
        }
    }
    // Chi-square over cells of at least 20, against its mean and eight deviations: below 1e-7.
    let cells: Vec<(f64, f64)> = counts
        .iter()
        .zip(&exact)
        .map(|(n, p)| (*n, p * f64::from(tries)))
        .filter(|cell| cell.1 >= 20.0)
        .collect();
    let chi: f64 = cells.iter().map(|(n, e)| (n - e).powi(2) / e).sum();
    let freedom = cells.len() as f64;
    // Power: as if the lower quantile did not heed the cut.
    let unheeding: f64 = (-3..=12i64)
        .flat_map(|x| {
            let p = law(&three, values, (START, END), 0.5, None)[(x + 3) as usize];
            law(&three, values, (START, END), 0.25, None).into_iter().map(move |lower| p * lower)
        })
        .zip(&counts)
        .map(|(p, n)| (n - p * f64::from(tries)).powi(2) / (p * f64::from(tries)).max(1e-9))
        .sum();
    assert!(unheeding > 1e4, "no power: {unheeding}");
    assert!(
        freedom > 30.0 && chi < freedom + 8.0 * (2.0 * freedom).sqrt(),
        "{chi} for {freedom} cells"
    );
}

/// All outputs of three quantiles, the share of the cut included: no neighbour makes any of them
/// likelier by more than the two rounds of points and the one of shares may.
#[test]
fn no_neighbour_loses_more_than_its_rounds() {
    let mut state = 7u64;
    let mut next = |bound: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % bound
    };
    let (mut largest, epsilon) = (0.0f64, 1.3);
    for round in 0..60 {
        // Few distinct values, so that ties are the rule.
        let spread = [16, 3][round % 2];
        let mut values: Vec<i64> = (0..next(9)).map(|_| next(spread) as i64 - 3).collect();
        let counted = |values: &[i64]| {
            let mut sorted = values.to_vec();
            sorted.sort_unstable();
            sorted.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)).collect::<Vec<_>>()
        };
        let three = search(&[0.1, 0.5, 0.6], epsilon, 2);
        let before = counted(&values);
        values.extend((0..1 + next(2)).map(|_| next(spread) as i64 - 3));
        let after = counted(&values);
        let loss = |between, q, at: Option<i64>| -> Vec<f64> {
            let (p, p2) =
                (law(&three, &before, between, q, at), law(&three, &after, between, q, at));
            p.iter()
                .zip(&p2)
                .map(|(a, b)| if *a == 0.0 && *b == 0.0 { 0.0 } else { (a / b).ln() })
                .collect()
        };
        let extremes = |losses: &[f64]| {
            losses.iter().fold((0.0f64, 0.0f64), |(l, h), x| (l.min(*x), h.max(*x)))
        };
        for (x, of_point) in (-3..=12).zip(loss((START, END), 0.5, None)) {
            for (share, of_share) in (0..=SHARES).zip(loss((START, END), 0.5, Some(x))).step_by(32)
            {
                let cut = Cut { point: x, share, quantile: 0.5 };
                // The two parts are independent, so that the worst outputs of both add.
                let (lower, upper) = (
                    extremes(&loss((START, cut), 0.1, None)),
                    extremes(&loss((cut, END), 0.6, None)),
                );
                let worst = (of_point + of_share + lower.1 + upper.1)
                    .max(-(of_point + of_share + lower.0 + upper.0));
                assert!(
                    worst <= 2.25 * epsilon + 1e-9,
                    "{before:?} {after:?} {x} {share}: {worst}"
                );
                largest = largest.max(worst);
            }
        }
    }
    assert!(largest > 1.0, "the neighbours are too alike to show anything: {largest}");
}

#[test]
fn rank_errors_hold() {
    let grid = Grid { centre: 0.0, step: 1.0, lower: 0, upper: 1 << 32 };
    let median = QuantileSearch { grid, points: vec![0.5], max_rows: 1, epsilon: 2.0 };
    // 2 * 0.5 / 2 * ln(20 * 2^32)
    assert!((median.rank_errors_95()[0] - 0.5 * (20.0 * 4294967297.0f64).ln()).abs() < 1e-12);
    let deciles: Vec<f64> = (1..10).map(|k| f64::from(k) / 10.0).collect();
    for points in [vec![0.5], deciles] {
        let search = QuantileSearch { grid, points: points.clone(), max_rows: 1, epsilon: 2.0 };
        let (errors, mut random) = (search.rank_errors_95(), SeededRandom::new(2));
        let values: Vec<(i64, u64)> = (0..1000).map(|i| (i << 21, 1)).collect();
        let (tries, mut far) = (1000u32, 0);
        for _ in 0..tries {
            let found = search.draw(&values, &mut random).expect("seeded");
            assert!(found.windows(2).all(|pair| pair[0] <= pair[1]), "{found:?}");
            let rank =
                |answer: f64| values.iter().filter(|value| value.0 as f64 <= answer).count() as f64;
            let off = found
                .iter()
                .zip(&points)
                .zip(&errors)
                .filter(|((x, q), e)| (rank(**x) - **q * 1000.0).abs() > **e + 1.0);
            far += u32::try_from(off.count()).expect("few");
        }
        // 5% and six deviations of it, were all choices independent.
        let all = f64::from(tries) * points.len() as f64;
        assert!(f64::from(far) < 0.05 * all + 6.0 * (0.05 * 0.95 * all).sqrt(), "{far}");
    }
}

/// At the same total loss, nine quantiles are nearer by rounds than each by itself: the reason for
/// the method, also with ties.
#[test]
fn rounds_are_better_than_separate_choices() {
    let deciles: Vec<f64> = (1..10).map(|k| f64::from(k) / 10.0).collect();
    assert_eq!(
        (levels(&deciles), levels(&[0.5]), levels(&[0.2, 0.2, 0.7]), levels(&[0.1, 0.5, 0.9])),
        (4, 1, 2, 2)
    );
    let grid = Grid { centre: 0.0, step: 1.0, lower: 0, upper: 1_000_000 };
    let smooth: Vec<(i64, u64)> = (0..2000).map(|i| (i * 400, 1)).collect();
    let tied: Vec<(i64, u64)> = (0..8).map(|i| (i * 100_000, 250)).collect();
    for values in [smooth, tied] {
        let error = |found: &[f64]| -> f64 {
            let off = |(x, q): (&f64, &f64)| {
                let (low, high) = (rank(&values, *x as i64, 0), rank(&values, *x as i64, SHARES));
                (q * 2000.0 - high).max(low - q * 2000.0).max(0.0)
            };
            found.iter().zip(&deciles).map(off).sum()
        };
        let rounds = QuantileSearch {
            grid,
            points: deciles.clone(),
            max_rows: 1,
            epsilon: 1.0 / (4.0 + 3.0 * LOSS_OF_SHARES),
        };
        let (mut random, mut by_rounds, mut separate) = (SeededRandom::new(3), 0.0, 0.0);
        for _ in 0..60 {
            by_rounds += error(&rounds.draw(&values, &mut random).expect("seeded"));
            let one = |&q: &f64| {
                let single =
                    QuantileSearch { points: vec![q], epsilon: 1.0 / 9.0, ..rounds.clone() };
                single.draw(&values, &mut random).expect("seeded")[0]
            };
            separate += error(&deciles.iter().map(one).collect::<Vec<_>>());
        }
        assert!(by_rounds < 0.7 * separate, "{by_rounds} {separate}");
    }
}
