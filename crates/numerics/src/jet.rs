//! Truncated Taylor series: a formula that is evaluated on a jet is differentiated on the way.

use crate::{Bounds, Enclosure};
use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The Taylor coefficients `c_k = f^(k)(x) / k!`, for `k = 0 ..= order`, of a function `f` at a
/// point `x`, each enclosed.
///
/// [`Jet::variable`] is the function `f(x) = x`; operations on jets give the jets of the composed
/// function, by the recurrences that follow from `g' = ...` for each operation (Griewank,
/// Walther, *Evaluating Derivatives*, 2nd ed., section 13.2; Moore, Kearfott, Cloud, *Introduction
/// to Interval Analysis*, chapter 9). If `x` is not a point but an enclosure `X`, every coefficient
/// encloses the values of `f^(k)(x)/k!` for all `x` in `X`, which is what a Taylor remainder is
/// made of.
///
/// # As an [`Enclosure`]
/// A jet is itself an enclosure, so a formula that is generic over [`Enclosure`] is differentiated
/// by running it on a jet. [`Enclosure::bounds`] and [`Enclosure::compare`] speak of the 0-th
/// coefficient. Not every formula is smooth, and those that are not must not pass for smooth:
///
/// - A comparison is answered only where it holds on all of `X`, so a branch that is taken on
///   `Less` or `Greater` is the same for all of `X`. `Equal` is answered for two constants only:
///   that a function takes a value at one point says nothing about the points beside it.
/// - [`Enclosure::hull`], and with it `between` and `max`, stands for an unknown choice, which may
///   change with `x`. The hull keeps its 0-th coefficient; all its derivatives are the whole line.
///   So a formula with a remainder term `between(-r, r)` has a usable value and unusable
///   derivatives, never wrong ones. An inexact constant must therefore be computed from exact ones,
///   as in `x.exactly(1.0) / x.exactly(3.0)`, to have the derivative zero.
/// - A formula must not carry information about its argument past the jet, by making a constant
///   ([`Enclosure::exactly`]) out of the argument's [`Enclosure::bounds`], unless that constant is
///   the same function of `x` in truth, as with the multiple of `ln 2` in an argument reduction.
#[derive(Clone, Debug)]
pub struct Jet<E> {
    /// `c_0, c_1, ...`, at least one; those up to `order` that are not stored are exactly zero.
    coefficients: Vec<E>,
    order: usize,
}

impl<E: Enclosure> Jet<E> {
    /// The function that is `value` everywhere.
    pub fn constant(value: E, order: usize) -> Self {
        Jet { coefficients: vec![value], order }
    }

    /// The function `f(x) = x` at the point, or at all points of the enclosure, `x`.
    pub fn variable(x: E, order: usize) -> Self {
        let slope = x.exactly(1.0);
        Jet { coefficients: if order == 0 { vec![x] } else { vec![x, slope] }, order }
    }

    /// The function with the given Taylor coefficients, the first of which is its value; none for
    /// an empty list.
    ///
    /// For functions that have their derivatives by other means than a formula: the caller answers
    /// for each coefficient holding `f^(k)(x)/k!` at the point, or at all points of the enclosure,
    /// in question.
    pub fn from_coefficients(coefficients: Vec<E>) -> Option<Self> {
        let order = coefficients.len().checked_sub(1)?;
        Some(Jet { coefficients, order })
    }

    /// The highest coefficient that is carried.
    pub fn order(&self) -> usize {
        self.order
    }

    /// `c_k = f^(k)(x) / k!`. Beyond the order nothing is known: the whole line.
    pub fn coefficient(&self, k: usize) -> E {
        match self.coefficients.get(k) {
            Some(coefficient) => coefficient.clone(),
            None if k <= self.order => self.zero(),
            None => self.whole_line(),
        }
    }

    fn value(&self) -> &E {
        &self.coefficients[0]
    }

    fn zero(&self) -> E {
        self.value().exactly(0.0)
    }

    fn whole_line(&self) -> E {
        self.value().exactly(f64::NAN)
    }

    fn is_constant(&self) -> bool {
        self.coefficients.len() == 1
    }

    fn map(self, f: impl Fn(E) -> E) -> Self {
        Jet { coefficients: self.coefficients.into_iter().map(f).collect(), order: self.order }
    }

    /// The value `first` with derivatives that are not known.
    fn rough(first: E, order: usize) -> Self {
        let unknown = first.exactly(f64::NAN);
        let mut coefficients = vec![first];
        coefficients.resize(order + 1, unknown);
        Jet { coefficients, order }
    }

    /// A series whose first coefficient is given and whose `k`-th follows from those before it.
    fn series(&self, first: E, next: impl Fn(usize, &[E]) -> E) -> Self {
        let mut coefficients = Vec::with_capacity(self.order + 1);
        coefficients.push(first);
        // A function of a constant is a constant.
        if !self.is_constant() {
            for k in 1..=self.order {
                let coefficient = next(k, &coefficients);
                coefficients.push(coefficient);
            }
        }
        Jet { coefficients, order: self.order }
    }

    /// `sum_{i=1}^{last} weight(i) f_i g_{k-i}`, without the `f_i` that are zero.
    fn weighted_sum(&self, last: usize, k: usize, g: &[E], weight: impl Fn(usize) -> E) -> E {
        let last = last.min(self.coefficients.len() - 1);
        (1..=last).fold(self.zero(), |sum, i| {
            sum + weight(i) * (self.coefficients[i].clone() * g[k - i].clone())
        })
    }

    fn count(&self, k: usize) -> E {
        self.value().exactly(k as f64)
    }

    /// `e = exp f` has `e' = f' e`, so `k e_k = sum_{i=1}^{k} i f_i e_{k-i}`.
    fn exponential(&self) -> Self {
        let first = self.value().clone().exp();
        self.series(first, |k, e| self.weighted_sum(k, k, e, |i| self.count(i)) / self.count(k))
    }

    /// `g = ln f + constant` has `f g' = f'`, so
    /// `f_0 g_k = f_k - (1/k) sum_{i=1}^{k-1} (k-i) f_i g_{k-i}`. The series with the given `g_0`,
    /// and `f_0` instead of the stored one.
    fn logarithm(&self, first: E, argument: E) -> Self {
        self.series(first, |k, g| {
            let sum = self.weighted_sum(k - 1, k, g, |i| self.count(k - i));
            (self.coefficient(k) - sum / self.count(k)) / argument.clone()
        })
    }

    /// Adds or subtracts coefficient by coefficient; `missing` is applied where only `other` has
    /// one.
    fn combine(self, other: Self, both: impl Fn(E, E) -> E, missing: impl Fn(E) -> E) -> Self {
        let order = self.order.min(other.order);
        let mut coefficients = self.coefficients;
        for (k, coefficient) in other.coefficients.into_iter().enumerate() {
            if k < coefficients.len() {
                coefficients[k] = both(coefficients[k].clone(), coefficient);
            } else {
                coefficients.push(missing(coefficient));
            }
        }
        coefficients.truncate(order + 1);
        Jet { coefficients, order }
    }
}

impl<E: Enclosure> Neg for Jet<E> {
    type Output = Self;
    fn neg(self) -> Self {
        self.map(|coefficient| -coefficient)
    }
}

impl<E: Enclosure> Add for Jet<E> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.combine(other, |a, b| a + b, |b| b)
    }
}

impl<E: Enclosure> Sub for Jet<E> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.combine(other, |a, b| a - b, |b| -b)
    }
}

impl<E: Enclosure> Mul for Jet<E> {
    type Output = Self;
    /// `(f g)_k = sum_i f_i g_{k-i}`.
    fn mul(self, other: Self) -> Self {
        let order = self.order.min(other.order);
        let (f, g) = (&self.coefficients, &other.coefficients);
        let stored = (f.len() + g.len() - 1).min(order + 1);
        let coefficient = |k: usize| {
            let from = (k + 1).saturating_sub(g.len());
            let to = k.min(f.len() - 1);
            let first = f[from].clone() * g[k - from].clone();
            (from + 1..=to).fold(first, |sum, i| sum + f[i].clone() * g[k - i].clone())
        };
        Jet { coefficients: (0..stored).map(coefficient).collect(), order }
    }
}

impl<E: Enclosure> Div for Jet<E> {
    type Output = Self;
    /// `q g = f`, so `g_0 q_k = f_k - sum_{i=1}^{k} g_i q_{k-i}`.
    fn div(self, other: Self) -> Self {
        let order = self.order.min(other.order);
        let divisor = other.value().clone();
        if other.is_constant() {
            let mut quotient = self.map(|coefficient| coefficient / divisor.clone());
            quotient.coefficients.truncate(order + 1);
            return Jet { order, ..quotient };
        }
        let other = Jet { order, ..other };
        other.series(self.value().clone() / divisor.clone(), |k, q| {
            let sum = other.weighted_sum(k, k, q, |_| other.count(1));
            (self.coefficient(k) - sum) / divisor.clone()
        })
    }
}

impl<E: Enclosure> Enclosure for Jet<E> {
    fn exactly(&self, value: f64) -> Self {
        Jet::constant(self.value().exactly(value), self.order)
    }

    fn precision(&self) -> u32 {
        self.value().precision()
    }

    /// The bounds of the value `c_0`.
    fn bounds(&self) -> Bounds {
        self.value().bounds()
    }

    fn exp(self) -> Self {
        self.exponential()
    }

    /// The derivatives are those of `exp`; only the value avoids the cancellation.
    fn exp_m1(self) -> Self {
        let mut series = self.exponential();
        series.coefficients[0] = self.value().clone().exp_m1();
        series
    }

    fn ln(self) -> Self {
        self.logarithm(self.value().clone().ln(), self.value().clone())
    }

    fn ln_1p(self) -> Self {
        self.logarithm(self.value().clone().ln_1p(), self.count(1) + self.value().clone())
    }

    /// `g g = f`, so `2 g_0 g_k = f_k - sum_{i=1}^{k-1} g_i g_{k-i}`.
    fn sqrt(self) -> Self {
        let root = self.value().clone().sqrt();
        let twice = root.clone().times_power_of_two(1);
        self.series(root, |k, g| {
            let sum = (1..k).fold(self.zero(), |sum, i| sum + g[i].clone() * g[k - i].clone());
            (self.coefficient(k) - sum) / twice.clone()
        })
    }

    fn pi(&self) -> Self {
        Jet::constant(self.value().pi(), self.order)
    }

    /// The hull of the values; nothing is known about the derivatives of an unknown choice.
    fn hull(self, other: Self) -> Self {
        let order = self.order.min(other.order);
        Jet::rough(self.value().clone().hull(other.value().clone()), order)
    }

    fn times_power_of_two(self, exponent: i32) -> Self {
        self.map(|coefficient| coefficient.times_power_of_two(exponent))
    }

    /// How the values compare. `Equal` is answered for constants only.
    fn compare(&self, other: &Self) -> Option<Ordering> {
        let ordering = self.value().compare(other.value());
        if ordering == Some(Ordering::Equal) && !(self.is_constant() && other.is_constant()) {
            None
        } else {
            ordering
        }
    }

    /// `g = f^r` has `f g' = r f' g`, so `k f_0 g_k = sum_{i=1}^{k} (r i - (k - i)) f_i g_{k-i}`.
    fn pow(self, exponent: f64) -> Self {
        let value = self.value().clone().pow(exponent);
        // The recurrence divides by f_0. A power that is a polynomial needs no division.
        let polynomial = (0.0..=64.0).contains(&exponent) && exponent.fract() == 0.0;
        if polynomial && self.value().compare(&self.zero()) != Some(Ordering::Greater) {
            let mut product = self.powi(exponent as u32);
            product.coefficients[0] = value;
            return product;
        }
        let power = self.value().exactly(exponent);
        let weight = |k: usize, i: usize| power.clone() * self.count(i) - self.count(k - i);
        self.series(value, |k, g| {
            self.weighted_sum(k, k, g, |i| weight(k, i)) / (self.value().clone() * self.count(k))
        })
    }
}
