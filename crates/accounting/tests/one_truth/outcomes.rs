//! What an event means, written down from its definition in the plainest way: the probabilities of
//! its outcomes for two neighbours. Shares no formula and no code with mechanisms, samplers or
//! accountants.

use reticent_events::{Event, InverseScale};

/// Outcomes as `(P, Q)`: small cells of a density, single integers, answers.
pub type Outcomes = Vec<(f64, f64)>;

/// What is known of an event.
pub enum Meaning {
    /// The outcomes of the worst neighbours, or of several of which one is the worst.
    Exact(Vec<Outcomes>),
    /// Of some neighbours; others may be worse.
    AtLeast(Vec<Outcomes>),
}

use Meaning::{AtLeast, Exact};

impl Meaning {
    fn lists(&self) -> &[Outcomes] {
        match self {
            Exact(lists) | AtLeast(lists) => lists,
        }
    }

    fn map(self, change: impl Fn(Outcomes) -> Vec<Outcomes>) -> Meaning {
        match self {
            Exact(lists) => Exact(lists.into_iter().flat_map(change).collect()),
            AtLeast(lists) => AtLeast(lists.into_iter().flat_map(change).collect()),
        }
    }

    /// The hockey-stick divergence of the worst.
    pub fn delta(&self, epsilon: f64) -> f64 {
        let growth = epsilon.exp();
        let of = |list: &Outcomes| list.iter().map(|(p, q)| (p - growth * q).max(0.0)).sum::<f64>();
        self.lists().iter().map(of).fold(0.0, f64::max)
    }

    /// Whether some neighbours attain it.
    pub fn is_exact(&self) -> bool {
        matches!(self, Exact(_))
    }
}

/// The outcomes of an event. Without a wildcard: an event that is not here does not compile.
pub fn meaning(event: &Event) -> Meaning {
    match event {
        Event::Laplace { scale, sensitivity } => {
            moved(*sensitivity, *scale, &[], |x| (-x.abs() / scale).exp())
        }
        Event::Gaussian { sigma, sensitivity } => {
            moved(*sensitivity, *sigma, &[], |x| (-0.5 * (x / sigma).powi(2)).exp())
        }
        Event::TruncatedLaplace { scale, support_in_scales, sensitivity } => {
            let end = support_in_scales * scale;
            moved(*sensitivity, *scale, &[end], |x| {
                if x.abs() <= end { (-x.abs() / scale).exp() } else { 0.0 }
            })
        }
        Event::Staircase { epsilon, gamma, sensitivity } => {
            let steps = (60.0 / epsilon).min(3000.0) as i32 + 3;
            let jumps: Vec<f64> = (0..steps)
                .flat_map(|k| [f64::from(k), f64::from(k) + gamma])
                .map(|jump| jump * sensitivity)
                .collect();
            let height = |x: f64| {
                let (k, rest) = ((x.abs() / sensitivity).floor(), (x.abs() / sensitivity).fract());
                (-epsilon * (k + f64::from(u8::from(rest >= *gamma)))).exp()
            };
            moved(*sensitivity, *sensitivity, &jumps, height)
        }
        Event::GeneralizedGaussian { order, scale, sensitivities } => {
            let noise = |x: f64| (-(x.abs() / scale).powf(*order)).exp();
            let one = |&sensitivity: &f64| match moved(sensitivity, *scale, &[], noise) {
                Exact(lists) | AtLeast(lists) => lists,
            };
            // Neighbours that differ in one coordinate; all at once are worse.
            let lists = sensitivities.iter().flat_map(one).collect();
            if sensitivities.len() == 1 { Exact(lists) } else { AtLeast(lists) }
        }
        Event::RandomScaleLaplace { inverse_scale, sensitivity } => {
            random_scale(inverse_scale, *sensitivity)
        }
        Event::RandomScaleLaplaceVector { inverse_scale, sensitivity, .. } => {
            match random_scale(inverse_scale, *sensitivity) {
                Exact(lists) | AtLeast(lists) => AtLeast(lists),
            }
        }
        Event::RandomScaleGaussian { sigmas, sensitivity } => {
            let middle =
                sigmas.iter().map(|(sigma, _)| sigma.ln()).sum::<f64>() / sigmas.len() as f64;
            moved(*sensitivity, middle.exp(), &[], |x| {
                sigmas
                    .iter()
                    .map(|(sigma, weight)| weight / sigma * (-0.5 * (x / sigma).powi(2)).exp())
                    .sum()
            })
        }
        Event::DiscreteLaplace { scale, sensitivity } => {
            integers(*sensitivity, *scale, |n| (-n.abs() / scale).exp())
        }
        Event::DiscreteGaussian { sigma, sensitivity } => {
            integers(*sensitivity, *sigma, |n| (-0.5 * (n / sigma).powi(2)).exp())
        }
        Event::Tabulated { weights, sensitivity_steps, .. } => {
            let weight = |n: i64| {
                let part = weights.get(n.unsigned_abs() as usize);
                part.map_or(0.0, |&(digits, power)| digits as f64 * f64::from(power).exp2())
            };
            let (end, steps) = (weights.len() as i64, *sensitivity_steps as i64);
            Exact(vec![normalised(
                (-end - steps..=end).map(|n| (weight(n), weight(n + steps))).collect(),
            )])
        }
        Event::TruncatedGeneralizedGaussian { order, scale, range, sensitivity } => {
            bounded(*range, *sensitivity, |from, to| {
                let noise = |x: f64| (-(x.abs() / scale).powf(*order)).exp();
                normalised(cells(&[0.0, *range, from, to], *scale, |y| {
                    (noise(y - from), noise(y - to))
                }))
            })
        }
        Event::InflatedGeneralizedGaussian { order, scale, range, sensitivity } => {
            bounded(*range, *sensitivity, |from, to| {
                let noise = |x: f64| (-(x.abs() / scale).powf(*order)).exp();
                let breaks: Vec<f64> =
                    ladder(*scale).flat_map(|x| [from + x, to + x]).chain([0.0, *range]).collect();
                let all = cells_with_places(FEW_CELLS, &breaks, *scale, |y| {
                    (noise(y - from), noise(y - to))
                });
                let (mut list, mut ends) = (Outcomes::new(), [(0.0, 0.0); 2]);
                for (y, (p, q)) in all {
                    match y {
                        y if y < 0.0 => ends[0] = (ends[0].0 + p, ends[0].1 + q),
                        y if y > *range => ends[1] = (ends[1].0 + p, ends[1].1 + q),
                        _ => list.push((p, q)),
                    }
                }
                list.extend(ends);
                normalised(list)
            })
        }
        Event::RandomizedResponse { epsilon, categories } => {
            let others = (categories - 1) as f64;
            let (truth, other) = (1.0, (-epsilon).exp());
            let total = truth + others * other;
            Exact(vec![vec![
                (truth / total, other / total),
                (other / total, truth / total),
                ((others - 1.0) * other / total, (others - 1.0) * other / total),
            ]])
        }
        // Two candidates whose utilities part by twice the sensitivity, at every distance on a fine
        // grid.
        Event::Exponential { epsilon } => {
            let first = |lead: f64| 1.0 / (1.0 + (-lead).exp());
            Exact(
                (0..=4000)
                    .map(|i| epsilon + 0.01 * f64::from(i - 2000))
                    .map(|lead| {
                        let (p, q) = (first(lead), first(lead - epsilon));
                        vec![(p, q), (1.0 - p, 1.0 - q)]
                    })
                    .collect(),
            )
        }
        Event::PermuteAndFlip { epsilon } => {
            // Ahead by `a` the first is chosen unless the other shows heads and is drawn: 1 - e^-a
            // / 2.
            let first =
                |lead: f64| if lead >= 0.0 { 1.0 - 0.5 * (-lead).exp() } else { 0.5 * lead.exp() };
            AtLeast(
                (0..=400)
                    .map(|i| epsilon * f64::from(i) / 400.0)
                    .map(|lead| {
                        let (p, q) = (first(lead), first(lead - epsilon));
                        vec![(p, q), (1.0 - p, 1.0 - q)]
                    })
                    .collect(),
            )
        }
        Event::Approximate { epsilon, delta } => {
            let high = (1.0 - delta) / (1.0 + (-epsilon).exp());
            let low = high * (-epsilon).exp();
            Exact(vec![vec![(*delta, 0.0), (high, low), (low, high), (0.0, *delta)]])
        }
        Event::ZeroConcentrated { rho } => {
            match meaning(&Event::Gaussian { sigma: 1.0, sensitivity: (2.0 * rho).sqrt() }) {
                Exact(lists) | AtLeast(lists) => AtLeast(lists),
            }
        }
        // With the unit the output is that of the event with it, at this rate, and without it
        // otherwise.
        Event::PoissonSubsampled { rate, event } => meaning(event).map(|list| {
            let mixed = |p: f64, q: f64| (1.0 - rate) * q + rate * p;
            let removed = list.iter().map(|&(p, q)| (mixed(p, q), q)).collect();
            let added = list.iter().map(|&(p, q)| (q, mixed(p, q))).collect();
            vec![removed, added]
        }),
        Event::Composition { events } => product(events.iter().map(meaning).collect()),
        Event::Repetition { times, event } => {
            product((0..*times).map(|_| meaning(event)).collect())
        }
    }
}

/// The density of an event's noise on one number, in units of the answer, if it adds noise that
/// does not depend on the answer; on a list of points with the probability of a cell around each.
pub fn noise_of(event: &Event) -> Option<Vec<(f64, f64)>> {
    let real = |scale: f64, jumps: &[f64], density: &dyn Fn(f64) -> f64| {
        let breaks: Vec<f64> =
            ladder(scale).chain(jumps.iter().flat_map(|&jump| [jump, -jump])).collect();
        Some(
            cells_with_places(CELLS, &breaks, scale, |x| (density(x), 0.0))
                .into_iter()
                .map(|(x, (p, _))| (x, p))
                .collect(),
        )
    };
    let noise: Option<Vec<(f64, f64)>> = match event {
        Event::Laplace { scale, .. } => real(*scale, &[], &|x| (-x.abs() / scale).exp()),
        Event::Gaussian { sigma, .. } => real(*sigma, &[], &|x| (-0.5 * (x / sigma).powi(2)).exp()),
        Event::TruncatedLaplace { scale, support_in_scales, .. } => {
            let end = support_in_scales * scale;
            real(*scale, &[end], &|x| if x.abs() <= end { (-x.abs() / scale).exp() } else { 0.0 })
        }
        Event::Staircase { epsilon, gamma, sensitivity } => {
            let height = |x: f64| {
                let (k, rest) = ((x.abs() / sensitivity).floor(), (x.abs() / sensitivity).fract());
                (-epsilon * (k + f64::from(u8::from(rest >= *gamma)))).exp()
            };
            real(*sensitivity, &[], &height)
        }
        Event::GeneralizedGaussian { order, scale, .. } => {
            real(*scale, &[], &|x| (-(x.abs() / scale).powf(*order)).exp())
        }
        Event::RandomScaleLaplace { inverse_scale, .. }
        | Event::RandomScaleLaplaceVector { inverse_scale, .. } => {
            real(1.0 / rate_of(inverse_scale), &[], &|x| -transform(inverse_scale, x.abs()).1)
        }
        Event::RandomScaleGaussian { sigmas, .. } => real(sigmas[0].0, &[], &|x| {
            sigmas
                .iter()
                .map(|(sigma, weight)| weight / sigma * (-0.5 * (x / sigma).powi(2)).exp())
                .sum()
        }),
        Event::DiscreteLaplace { scale, .. } => whole(*scale, &|n| (-n.abs() / scale).exp()),
        Event::DiscreteGaussian { sigma, .. } => {
            whole(*sigma, &|n| (-0.5 * (n / sigma).powi(2)).exp())
        }
        // On real answers the noise is uniform over the cell of its step, half of which is well
        // below the median here.
        Event::Tabulated { weights, spacing, .. } => {
            let end = weights.len() as i64 - 1;
            let weight = |n: i64| {
                let (digits, power) = weights[n.unsigned_abs() as usize];
                digits as f64 * f64::from(power).exp2()
            };
            let parts = 16;
            let cell = |n: i64| {
                (0..parts).map(move |i| {
                    (n as f64 - 0.5 + (f64::from(i) + 0.5) / f64::from(parts)) * spacing
                })
            };
            Some((-end..=end).flat_map(|n| cell(n).map(move |x| (x, weight(n)))).collect())
        }
        Event::TruncatedGeneralizedGaussian { .. }
        | Event::InflatedGeneralizedGaussian { .. }
        | Event::RandomizedResponse { .. }
        | Event::Exponential { .. }
        | Event::PermuteAndFlip { .. }
        | Event::Approximate { .. }
        | Event::ZeroConcentrated { .. }
        | Event::PoissonSubsampled { .. }
        | Event::Composition { .. }
        | Event::Repetition { .. } => None,
    };
    let total: f64 = noise.as_ref()?.iter().map(|(_, p)| p).sum();
    Some(noise?.into_iter().map(|(x, p)| (x, p / total)).collect())
}

/// Distances from zero on which something changes, on all scales around `scale`; both signs.
fn ladder(scale: f64) -> impl Iterator<Item = f64> + Clone {
    (-12..=40).map(move |k| scale * f64::from(k).exp2()).flat_map(|x| [x, -x]).chain([0.0])
}

/// How many cells there are between two breaks; fewer for bounded noise, whose breaks are those of
/// four points.
const CELLS: i32 = 160;
const FEW_CELLS: i32 = 24;

/// The midpoint rule between all breaks.
fn cells_with_places(
    count: i32,
    breaks: &[f64],
    scale: f64,
    density: impl Fn(f64) -> (f64, f64),
) -> Vec<(f64, (f64, f64))> {
    let mut breaks = breaks.to_vec();
    breaks.sort_by(f64::total_cmp);
    breaks.dedup_by(|a, b| (*a - *b).abs() <= 1e-13 * scale);
    let mut list = Vec::new();
    for ends in breaks.windows(2) {
        let width = (ends[1] - ends[0]) / f64::from(count);
        for i in 0..count {
            let x = ends[0] + (f64::from(i) + 0.5) * width;
            let (p, q) = density(x);
            if p > 0.0 || q > 0.0 {
                list.push((x, (p * width, q * width)));
            }
        }
    }
    list
}

fn cells(breaks: &[f64], scale: f64, density: impl Fn(f64) -> (f64, f64)) -> Outcomes {
    let (least, most) =
        breaks.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
    let around = breaks.iter().flat_map(|&x| ladder(scale).map(move |step| x + step));
    let breaks: Vec<f64> = around.filter(|x| (least..=most).contains(x)).collect();
    cells_with_places(FEW_CELLS, &breaks, scale, density)
        .into_iter()
        .map(|(_, masses)| masses)
        .collect()
}

/// Noise of a density, up to a factor, whose jumps are known, on answers that differ by `distance`.
fn moved(distance: f64, scale: f64, jumps: &[f64], density: impl Fn(f64) -> f64) -> Meaning {
    let own: Vec<f64> = ladder(scale).chain(jumps.iter().flat_map(|&jump| [jump, -jump])).collect();
    let breaks: Vec<f64> =
        own.iter().flat_map(|&x| [x, x - distance]).chain([-0.5 * distance]).collect();
    let list = cells_with_places(CELLS, &breaks, scale, |x| (density(x), density(x + distance)));
    Exact(vec![normalised(list.into_iter().map(|(_, masses)| masses).collect())])
}

/// Noise on the integers; where its scale is large, every so many of them.
fn integers(distance: u64, scale: f64, weight: impl Fn(f64) -> f64) -> Meaning {
    let end = (60.0 * scale).ceil() + 3.0 + distance as f64;
    let stride = (end / 100_000.0).ceil().max(1.0);
    let count = ((2.0 * end + distance as f64) / stride) as i64 + 1;
    let points = (0..count).map(|i| i as f64 * stride - end - distance as f64);
    Exact(vec![normalised(points.map(|n| (weight(n), weight(n + distance as f64))).collect())])
}

fn whole(scale: f64, weight: &dyn Fn(f64) -> f64) -> Option<Vec<(f64, f64)>> {
    let end = (60.0 * scale).ceil() + 3.0;
    let stride = (end / 100_000.0).ceil().max(1.0);
    let count = (end / stride) as i64;
    Some((-count..=count).map(|i| (i as f64 * stride, weight(i as f64 * stride))).collect())
}

/// A bounded answer at several points, moved by the whole sensitivity either way. The worst point
/// may be between two of them.
fn bounded(range: f64, sensitivity: f64, pair: impl Fn(f64, f64) -> Outcomes) -> Meaning {
    let most = range - sensitivity;
    let points = (0..=8).map(|i| (most * f64::from(i) / 8.0).max(0.0));
    AtLeast(points.flat_map(|s| [pair(s, s + sensitivity), pair(s + sensitivity, s)]).collect())
}

fn random_scale(inverse_scale: &InverseScale, sensitivity: f64) -> Meaning {
    moved(sensitivity, 1.0 / rate_of(inverse_scale), &[], |x| -transform(inverse_scale, x.abs()).1)
}

/// `E e^(-T x)` and its derivative, `-E T e^(-T x)`: the density of Laplace noise of scale `1/T` is
/// half of the latter.
fn transform(inverse_scale: &InverseScale, x: f64) -> (f64, f64) {
    match inverse_scale {
        InverseScale::TwoPoint { first, second, weight } => {
            let (one, other) = (weight * (-first * x).exp(), (1.0 - weight) * (-second * x).exp());
            (one + other, -first * one - second * other)
        }
        InverseScale::Gamma { shape, theta } => {
            let base = 1.0 + theta * x;
            (base.powf(-shape), -shape * theta * base.powf(-shape - 1.0))
        }
        InverseScale::Uniform { lower, upper } => mean(*lower, *upper, |_| 1.0, x),
        InverseScale::TruncatedGaussian { mu, sigma, lower, upper } => {
            mean(*lower, *upper, |t| (-0.5 * ((t - mu) / sigma).powi(2)).exp(), x)
        }
        InverseScale::Combined { parts } => {
            parts.iter().fold((1.0, 0.0), |(value, slope), (weight, part)| {
                let (next, next_slope) = transform(part, weight * x);
                (value * next, slope * next + value * weight * next_slope)
            })
        }
    }
}

/// Means over an inverse scale in an interval, by the midpoint rule; finer near the lower end,
/// which decides far out.
fn mean(lower: f64, upper: f64, density: impl Fn(f64) -> f64, x: f64) -> (f64, f64) {
    let (mut total, mut value, mut slope) = (0.0, 0.0, 0.0);
    for i in 0..100 {
        let share = |i: i32| (f64::from(i) / 100.0).powi(3);
        let (from, to) =
            (lower + (upper - lower) * share(i), lower + (upper - lower) * share(i + 1));
        let t = 0.5 * (from + to);
        let mass = density(t) * (to - from);
        total += mass;
        value += mass * (-t * x).exp();
        slope -= t * mass * (-t * x).exp();
    }
    (value / total, slope / total)
}

/// About the mean inverse scale.
fn rate_of(inverse_scale: &InverseScale) -> f64 {
    -transform(inverse_scale, 0.0).1
}

fn normalised(list: Outcomes) -> Outcomes {
    let (p_sum, q_sum) = list.iter().fold((0.0, 0.0), |(a, b), (p, q)| (a + p, b + q));
    list.into_iter().map(|(p, q)| (p / p_sum, q / q_sum)).collect()
}

/// All combinations of independent outcomes, of which cells of about the same loss have been put
/// together.
fn product(meanings: Vec<Meaning>) -> Meaning {
    let is_exact =
        meanings.iter().all(Meaning::is_exact) && meanings.iter().all(|one| one.lists().len() == 1);
    let mut all: Outcomes = vec![(1.0, 1.0)];
    for one in meanings {
        let next = gathered(&one.lists()[0]);
        all =
            all.iter().flat_map(|&(p, q)| next.iter().map(move |&(r, s)| (p * r, q * s))).collect();
        all = gathered(&all);
    }
    if is_exact { Exact(vec![all]) } else { AtLeast(vec![all]) }
}

/// Outcomes sorted by their loss, with neighbours whose losses differ by less than a thousandth put
/// together.
fn gathered(list: &Outcomes) -> Outcomes {
    let loss = |(p, q): (f64, f64)| (p / q).ln();
    let mut list: Outcomes =
        list.iter().copied().filter(|&(p, q)| p > 1e-18 || q > 1e-18).collect();
    list.sort_by(|&a, &b| loss(a).total_cmp(&loss(b)));
    let mut out: Outcomes = Vec::new();
    let mut began = f64::NEG_INFINITY;
    for one in list {
        match out.last_mut() {
            Some(last) if loss(one) - began < 1e-3 || loss(one) == began => {
                *last = (last.0 + one.0, last.1 + one.1)
            }
            _ => {
                began = loss(one);
                out.push(one);
            }
        }
    }
    out
}
