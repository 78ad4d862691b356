//! An inverse scale that is a sum of independent parts.

use super::InverseScale;
use super::moments::product;
use crate::NoiseError;
use crate::parameter::positive;
use reticent_numerics::{Enclosure, require};

/// `T = sum_i a_i T_i` with independent `T_i` and `a_i > 0`.
///
/// `E[exp(-x T)] = prod_i E[exp(-a_i x T_i)]` (Theorem 4.2), and the product rule gives
/// `E[T exp(-x T)]` (Corollary 4.4).
#[derive(Clone, Debug, PartialEq)]
pub struct Combined {
    parts: Vec<(f64, InverseScale)>,
}

impl Combined {
    /// Parts with their weights.
    ///
    /// # Errors
    /// If there is no part, or a weight is not a number from 1e-150 to 1e150.
    pub fn new(parts: Vec<(f64, InverseScale)>) -> Result<Self, NoiseError> {
        require(!parts.is_empty(), "number of parts", 0.0, "at least 1")?;
        for (weight, _) in &parts {
            positive("weight", *weight)?;
        }
        Ok(Combined { parts })
    }

    /// The parts with their weights.
    pub fn parts(&self) -> &[(f64, InverseScale)] {
        &self.parts
    }

    pub(super) fn divided(&self, factor: f64) -> Result<Self, NoiseError> {
        Combined::new(
            self.parts.iter().map(|(weight, part)| (weight / factor, part.clone())).collect(),
        )
    }

    /// The Cauchy product of the parts' moments (Leibniz' rule).
    pub(super) fn tilted_moments<E: Enclosure>(&self, order: usize, x: &E) -> Vec<E> {
        let mut one = vec![x.exactly(0.0); order + 1];
        one[0] = x.exactly(1.0);
        self.parts.iter().fold(one, |moments, (weight, part)| {
            let weight = x.exactly(*weight);
            let mut power = x.exactly(1.0);
            let mut of_part = part.tilted_moments(order, &(weight.clone() * x.clone()));
            for moment in &mut of_part {
                *moment = moment.clone() * power.clone();
                power = power * weight.clone();
            }
            product(&moments, &of_part)
        })
    }

    pub(super) fn transform<E: Enclosure>(&self, x: &E) -> E {
        self.parts.iter().fold(x.exactly(1.0), |product, (weight, part)| {
            product * part.transform(&(x.exactly(*weight) * x.clone()))
        })
    }

    pub(super) fn tilted_mean<E: Enclosure>(&self, x: &E) -> E {
        // Carries the product and its derivative through the parts.
        let (mut product, mut derivative) = (x.exactly(1.0), x.exactly(0.0));
        for (weight, part) in &self.parts {
            let weight = x.exactly(*weight);
            let at = weight.clone() * x.clone();
            let value = part.transform(&at);
            derivative =
                derivative * value.clone() + product.clone() * weight * part.tilted_mean(&at);
            product = product * value;
        }
        derivative
    }
}
