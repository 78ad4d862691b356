//! The distribution of one coordinate's loss, kept as moments on the cells of a grid.

use super::inner_product::inner_product;
use super::several::Losses;
use super::shift::Shift;
use super::taylor::{density_coefficients, loss_coefficients, product};
use reticent_numerics::rounding::add_up;
use reticent_numerics::{Bounds, Enclosure};

/// How many moments a cell keeps beyond its mass; even, so that the last is not negative.
pub(super) const MOMENTS: usize = 8;

/// The order of the Taylor expansion that the moments are integrated with; even.
const ORDER: usize = 14;

/// The widest piece of an integral, as a share of the range of the noise.
const FINEST_SHARE: f64 = 1.0 / 24.0;

/// `E[(L - c)^j; L in the cell]` for `j = 0 ..= MOMENTS`, `c` being the cell's centre.
pub(super) type Moments = [Bounds; MOMENTS + 1];

/// A loss, as moments around the grid points `i h + offset`.
///
/// Rounding a loss to a grid of step `h` costs an error of the order of `h`; with the first `m`
/// moments of each cell, an expectation of a smooth function is known to the order of `h^m`.
/// Moments of a sum follow from moments of its terms by the binomial theorem, so that a convolution
/// keeps them all.
#[derive(Clone, Debug)]
pub(super) struct CellMoments {
    /// The index `i` of the first cell.
    pub(super) first: i64,
    pub(super) cells: Vec<Moments>,
    /// How many sixteenths of a step a loss can be from the centre of its cell, at most: eight for
    /// each coordinate, and one.
    pub(super) sixteenths: i64,
    /// A bound on the mass that no cell holds.
    pub(super) outside: f64,
}

impl CellMoments {
    /// The loss of one coordinate, for noise up to `reach` in magnitude; `outside` bounds the mass
    /// beyond it.
    pub(super) fn of_coordinate(
        shift: &Shift,
        losses: Losses,
        step: f64,
        offset: f64,
        reach: f64,
        outside: f64,
    ) -> Option<Self> {
        let start = if losses == Losses::Both { -reach } else { 0.0 };
        let index = |x: f64| ((shift.loss_at(x, step).estimate() - offset) / step).round();
        let (first, last) = (index(start), index(reach));
        if (last - first).is_nan() || last - first > 1e5 {
            return None;
        }
        let breaks = breakpoints(shift, start, reach);
        let mut cells = Vec::new();
        let mut from = start;
        let mut index = first;
        while index <= last {
            let to = if index == last {
                reach
            } else {
                shift
                    .threshold((index + 0.5) * step + offset)
                    .map_or(reach, |(low, _)| low.clamp(from, reach))
            };
            let centre = Bounds::exact(index * step) + Bounds::exact(offset);
            // Rounding moves an end of a cell by far less than this; and eleven times 0.505 steps
            // are less than 89 sixteenths.
            let ends = shift.loss_at(from, step).hull(shift.loss_at(to, step)) - centre;
            if !(ends.lower() >= -0.505 * step && ends.upper() <= 0.505 * step) {
                return None;
            }
            cells.push(moments(shift, losses, centre, from, to, &breaks));
            from = to;
            index += 1.0;
        }
        Some(CellMoments { first: first as i64, cells, sixteenths: 9, outside })
    }

    /// The sum of two independent losses.
    pub(super) fn convolve(&self, other: &CellMoments) -> CellMoments {
        let mut cells = vec![[Bounds::ZERO; MOMENTS + 1]; self.cells.len() + other.cells.len() - 1];
        for (i, left) in self.cells.iter().enumerate() {
            let weighted: [Moments; MOMENTS + 1] = std::array::from_fn(|n| {
                std::array::from_fn(|k| if k > n { Bounds::ZERO } else { choose(n, k) * left[k] })
            });
            for (j, right) in other.cells.iter().enumerate() {
                for (n, moment) in cells[i + j].iter_mut().enumerate() {
                    *moment =
                        *moment + inner_product((0..=n).map(|k| (weighted[n][k], right[n - k])));
                }
            }
        }
        CellMoments {
            first: self.first + other.first,
            cells,
            sixteenths: self.sixteenths + other.sixteenths - 1,
            outside: add_up(self.outside, other.outside),
        }
    }
}

pub(super) fn choose(n: usize, k: usize) -> Bounds {
    Bounds::exact((0..k).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64))
}

/// Where the integrand is not smooth, at 0 and `-u`, and points that approach them geometrically
/// unless the order is a whole number; and a grid.
fn breakpoints(shift: &Shift, start: f64, reach: f64) -> Vec<f64> {
    let u = shift.ratio(&Bounds::ONE);
    let order = shift.order.get();
    let mut breaks: Vec<f64> = Vec::new();
    let pieces = (1.0 / FINEST_SHARE) as i32;
    breaks.extend((-pieces..=pieces).map(|i| f64::from(i) * FINEST_SHARE * reach));
    if order % 2.0 != 0.0 {
        breaks.extend([0.0, -u.upper(), -u.lower()]);
    }
    if order.fract() != 0.0 {
        for halvings in 1..60 {
            let near = reach * 2f64.powi(-halvings);
            breaks.extend([near, -near, -u.upper() - near, -u.lower() + near]);
        }
    }
    breaks.retain(|&x| x > start && x < reach);
    breaks.sort_by(f64::total_cmp);
    breaks
}

/// The moments of the cell of losses that the noise between `from` and `to` makes.
fn moments(
    shift: &Shift,
    losses: Losses,
    centre: Bounds,
    from: f64,
    to: f64,
    breaks: &[f64],
) -> Moments {
    let mut total = [Bounds::ZERO; MOMENTS + 1];
    let mut add = |low: f64, high: f64| {
        if low < high {
            let piece: Moments = piece_moments(shift, centre, low, high);
            for (sum, moment) in total.iter_mut().zip(piece) {
                *sum = *sum + moment;
            }
        }
    };
    let mut low = from;
    let first_inside = breaks.partition_point(|&x| x <= from);
    for &high in breaks[first_inside..].iter().take_while(|&&x| x < to) {
        add(low, high);
        low = high;
    }
    add(low, to);
    let doubled = if losses == Losses::Magnitudes { Bounds::exact(2.0) } else { Bounds::ONE };
    total.map(|moment| moment * doubled)
}

/// `integral of f(x) (L(x) - c)^j dx` for each `j`, by Taylor's theorem with the remainder over the
/// piece.
pub(super) fn piece_moments<const COUNT: usize>(
    shift: &Shift,
    centre: Bounds,
    low: f64,
    high: f64,
) -> [Bounds; COUNT] {
    let middle = low + 0.5 * (high - low);
    let at = |x: Bounds| {
        let mut loss = loss_coefficients(shift, x, ORDER);
        loss[0] = loss[0] - centre;
        (density_coefficients(shift.order, x, ORDER), loss)
    };
    let (mut exact, exact_loss) = at(Bounds::exact(middle));
    let (mut range, range_loss) = at(Bounds::new(low, high));
    let (right, left) =
        (Bounds::exact(high) - Bounds::exact(middle), Bounds::exact(middle) - Bounds::exact(low));
    // The integral of (x - middle)^k, divided out of nothing: u^(k+1) + (-1)^k v^(k+1) over k + 1.
    let mut weights = [Bounds::ZERO; ORDER + 1];
    let (mut right_power, mut left_power) = (right, left);
    for (k, weight) in weights.iter_mut().enumerate() {
        let both = if k % 2 == 0 { right_power + left_power } else { right_power - left_power };
        *weight = both / Bounds::exact((k + 1) as f64);
        right_power = right_power * right;
        left_power = left_power * left;
    }
    let mut result = [Bounds::ZERO; COUNT];
    for (j, moment) in result.iter_mut().enumerate() {
        *moment = expansion(&exact, &range, &weights);
        if j % 2 == 0 {
            *moment = Bounds::new(moment.lower().max(0.0), moment.upper());
        }
        exact = product(&exact, &exact_loss);
        range = product(&range, &range_loss);
    }
    result
}

/// `sum_{k<n} exact_k weight_k + range_n weight_n` for the even `n` that make it narrowest;
/// `weight_n` is not negative.
pub(super) fn expansion(exact: &[Bounds], range: &[Bounds], weights: &[Bounds]) -> Bounds {
    let mut partial = Bounds::ZERO;
    let mut best = Bounds::WHOLE_LINE;
    for n in 0..weights.len() {
        if n % 2 == 0 && range[n].is_finite() {
            best = best.intersect(partial + range[n] * weights[n]);
        }
        if !exact[n].is_finite() {
            break;
        }
        partial = partial + exact[n] * weights[n];
    }
    best
}
