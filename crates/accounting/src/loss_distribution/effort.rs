//! How much may be computed for one answer.

/// A budget of elementary work: one unit is a value of a transform, or an evaluation of a closed
/// form. Every loop of the accountant whose length depends on parameters draws from it or has a
/// fixed bound, so that an answer ends whatever was asked, on any machine, with the same result.
#[derive(Debug)]
pub(super) struct Effort {
    left: f64,
    most_points: f64,
}

impl Effort {
    /// For an answer of a given relative precision: a few seconds of work at most, half a minute
    /// where much is asked for, and far less usually.
    pub(super) fn for_precision(precision: f64) -> Self {
        if precision < 1e-5 {
            Effort { left: 4e8, most_points: 8_388_608.0 }
        } else {
            Effort { left: 1.5e8, most_points: 2_097_152.0 }
        }
    }

    /// More for many kinds of release: some frames of 65,536 points for each.
    pub(super) fn for_kinds(self, kinds: usize) -> Self {
        Effort { left: self.left + 4e5 * kinds as f64, ..self }
    }

    /// The most grid points of a frame: 64 MB a copy where much precision is asked for, and a
    /// quarter of that otherwise.
    pub(super) fn most_points(&self) -> f64 {
        self.most_points
    }

    /// Takes this much, if it is there.
    #[must_use]
    pub(super) fn spend(&mut self, amount: f64) -> bool {
        // Doubt about the amount is refused too.
        let is_there = amount <= self.left;
        if is_there {
            self.left -= amount;
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_is_gone() {
        let mut effort = Effort::for_precision(1e-4);
        let most = effort.left;
        assert!(effort.spend(0.6 * most) && !effort.spend(0.6 * most) && effort.spend(0.3 * most));
        assert!(!effort.spend(f64::NAN) && !effort.spend(f64::INFINITY));
    }
}
