//! The pair of noise from a table.

use super::super::pair::{Pair, Point, probability};
use reticent_noise::Table;
use reticent_numerics::{Bounds, Enclosure, nearest};

/// Integer noise from a table of exact weights, moved by `S` steps: `P` has the weight `w_|n|` at
/// the step `n` and `Q` the weight `w_|n - S|`. A move by less reveals less (proof at
/// `reticent_mechanisms::Tabulated`).
///
/// The outcomes are ordered by their losses, and the two probabilities of the first `k` are
/// quotients of exact integers. Losses are known to a few ulps, so that next to `x` an outcome may
/// stand on the wrong side; what it adds to `delta` is at most its probability times its distance
/// from `x`, which is put on top.
#[derive(Debug)]
pub(crate) struct TabulatedPair {
    /// Falling; infinite ones first.
    losses: Vec<f64>,
    /// `P` and `Q` of the first `k` outcomes.
    tails: Vec<(Bounds, Bounds)>,
    infinite: Bounds,
}

/// More than a computed loss is off: by `3 u` for the quotient of two rounded integers and `u`
/// times a logarithm of at most `126 ln 2` for the logarithm, `u` being half an ulp of 1.
const OFF: f64 = 1e-13;

impl TabulatedPair {
    /// Of a table and a move.
    pub(crate) fn new(table: &Table, steps: u64) -> Self {
        let (support, steps) = (table.support_in_steps() as i128, i128::from(steps));
        let weight = |n: i128| u64::try_from(n.unsigned_abs()).map_or(0, |n| table.weight(n));
        let outcomes = (-support..=support + steps)
            .map(|n| (weight(n), weight(n - steps)))
            .filter(|&(p, q)| p > 0 || q > 0);
        let loss = |(p, q): (u128, u128)| {
            if q == 0 { f64::INFINITY } else { nearest::ln(p as f64 / q as f64) }
        };
        let mut outcomes: Vec<(f64, (u128, u128))> =
            outcomes.map(|masses| (loss(masses), masses)).collect();
        outcomes.sort_by(|a, b| b.0.total_cmp(&a.0));
        let share = |sum: u128| whole(sum) / whole(table.total());
        let (mut p_sum, mut q_sum) = (0, 0);
        let mut tails = vec![(Bounds::ZERO, Bounds::ZERO)];
        for &(_, (p, q)) in &outcomes {
            (p_sum, q_sum) = (p_sum + p, q_sum + q);
            tails.push((share(p_sum), share(q_sum)));
        }
        let certain = outcomes.iter().take_while(|(loss, _)| *loss == f64::INFINITY).count();
        let infinite = tails[certain].0;
        TabulatedPair {
            losses: outcomes.into_iter().map(|(loss, _)| loss).collect(),
            tails,
            infinite,
        }
    }
}

fn whole(n: u128) -> Bounds {
    // Below 2^127 by the table's construction.
    Bounds::ONE.integer(n as i128)
}

impl Pair for TabulatedPair {
    fn at(&self, loss: f64) -> Point {
        let count = self.losses.partition_point(|&other| other > loss);
        let (p, q) = self.tails[count];
        let point = Point::from_tails(loss, p, q);
        let doubtful = self.losses.partition_point(|&other| other > loss - OFF);
        let slack = if doubtful == count && (count == 0 || self.losses[count - 1] > loss + OFF) {
            Bounds::ZERO
        } else {
            Bounds::exact(2.0 * OFF) * self.tails[doubtful].0
        };
        Point {
            delta: probability(Bounds::new(point.delta.lower(), (point.delta + slack).upper())),
            ..point
        }
    }

    fn infinite(&self) -> Bounds {
        self.infinite
    }

    fn greatest_loss(&self) -> f64 {
        self.losses.iter().find(|loss| loss.is_finite()).map_or(0.0, |loss| loss + OFF)
    }
}
