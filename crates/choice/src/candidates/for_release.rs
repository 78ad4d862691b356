//! Noise for one integer in each of many groups.

use super::generalized_gaussian::generalized_gaussian;
use super::random_scale::{family_of, one_family, random_scale_gaussian, random_scale_laplace};
use super::{Outcome, approximate, optimal, pure};
use crate::release_noise::{Considered, NoiseName};
use crate::requirements::Requirements;

type Maker = fn(&Requirements) -> Outcome;

/// Of a pure budget, and of one with a delta. The first two of each are [`Considered::Quick`].
const PURE: [(&str, Maker); 4] = [
    ("discrete-laplace", pure::discrete_laplace),
    ("staircase", pure::integer_staircase),
    ("laplace", pure::laplace),
    ("generalized-gaussian", generalized_gaussian),
];
const WITH_DELTA: [(&str, Maker); 5] = [
    ("truncated-laplace", approximate::truncated_laplace),
    ("optimal", optimal::small),
    ("discrete-gaussian", approximate::discrete_gaussian),
    ("generalized-gaussian", generalized_gaussian),
    ("random-scale-gaussian", random_scale_gaussian),
];

/// See [`crate::rank_for_release`].
pub(crate) fn for_release(requirements: &Requirements, considered: Considered) -> Vec<Outcome> {
    let is_pure = requirements.budget.delta().is_none();
    let makers: &[(&str, Maker)] = if is_pure { &PURE } else { &WITH_DELTA };
    let made = |makers: &[(&str, Maker)]| -> Vec<Outcome> {
        makers.iter().map(|(_, make)| make(requirements)).collect()
    };
    match considered {
        Considered::Quick => made(&makers[..2]),
        Considered::Everything => {
            let mut outcomes = made(makers);
            if is_pure {
                outcomes.extend(random_scale_laplace(requirements));
            }
            outcomes
        }
        Considered::Only(name) if is_pure && name == NoiseName::STAIRCASE => {
            vec![pure::named_integer_staircase(requirements)]
        }
        Considered::Only(name) => match family_of(name.as_str()) {
            Some(family) if is_pure => vec![one_family(requirements, family)],
            Some(_) => vec![],
            None => {
                let makers = makers.iter().filter(|(known, _)| *known == name.as_str());
                makers.map(|(_, make)| make(requirements)).collect()
            }
        },
    }
}
