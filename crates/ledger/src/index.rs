//! The entries of a query by its fingerprint, found in a number of steps that grows with the
//! logarithm of the number of entries.
//!
//! # Structure
//! A binary trie over the bits of fingerprints, kept in the entries themselves, which are never
//! changed: an entry names, for every `d`, the newest earlier entry whose fingerprint has exactly
//! its first `d` bits in common with its own. To find a fingerprint `F`, begin at the newest
//! entry. If its fingerprint has exactly `d` bits in common with `F`, go on to the entry that it
//! names for `d`: among all that share `d + 1` bits with `F` that is the newest, so what it names
//! for larger `d` is still the newest. Each step gains at least one bit, and two on average. (The
//! prefix trees of key transparency logs work in the same manner.)

use crate::entry::{Action, damaged};
use crate::{Digest, LedgerError};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What became of the reservations of one fingerprint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fate {
    /// The newest reservation.
    pub(crate) reservation: u64,
    /// The entry of the newest answer. (Of two fresh runs either can end first.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<u64>,
    /// The reservations that are neither answered nor abandoned, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) open: Vec<u64>,
}

impl Fate {
    /// What an entry makes of it.
    pub(crate) fn after(&self, number: u64, action: &Action) -> Result<Self, LedgerError> {
        let mut next = self.clone();
        match action {
            Action::Reserve { .. } => {
                next.reservation = number;
                next.open.push(number);
            }
            Action::Answer { reservation, .. } | Action::Abandon { reservation } => {
                let at = next.open.binary_search(reservation);
                next.open
                    .remove(at.map_err(|_| LedgerError::NotReserved { number: *reservation })?);
                if let Action::Answer { .. } = action {
                    next.answer = Some(number);
                }
            }
            Action::Create { .. } | Action::Amend { .. } | Action::Adopt { .. } => {}
        }
        Ok(next)
    }
}

/// The part of an entry that the index is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Node {
    pub(crate) fingerprint: Digest,
    pub(crate) fate: Fate,
    /// At index `d` the newest earlier entry with exactly `d` bits of the fingerprint, or 0.
    pub(crate) others: Vec<u64>,
}

/// Where nodes are found by the numbers of their entries.
pub(crate) trait Nodes {
    fn node(&self, number: u64) -> Result<Cow<'_, Node>, LedgerError>;
}

/// The node of a fingerprint as the entries up to `newest` (0 for none) have it; without a
/// reservation if they do not know it.
pub(crate) fn find(
    nodes: &impl Nodes,
    newest: u64,
    fingerprint: Digest,
) -> Result<Node, LedgerError> {
    let (mut number, mut others) = (newest, Vec::new());
    while number != 0 {
        let node = nodes.node(number)?;
        let common = common_bits(&node.fingerprint, &fingerprint);
        let named = |from: usize, to: usize| node.others.get(from..to.min(node.others.len()));
        let is_found = node.fingerprint == fingerprint;
        others.extend_from_slice(named(others.len(), common).unwrap_or_default());
        if is_found {
            let fate = node.fate.clone();
            return Ok(Node { fingerprint, fate, others });
        }
        if common < others.len() {
            return Err(damaged(number, "is not where the index says"));
        }
        others.resize(common, 0);
        others.push(number);
        number = node.others.get(common).copied().unwrap_or(0);
    }
    Ok(Node { fingerprint, fate: Fate::default(), others })
}

fn common_bits(one: &Digest, other: &Digest) -> usize {
    let pairs = one.as_bytes().iter().zip(other.as_bytes());
    let mut bits = 0;
    for difference in pairs.map(|(one, other)| one ^ other) {
        bits += difference.leading_zeros() as usize;
        if difference != 0 {
            break;
        }
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::collections::HashMap;

    struct Counted(Vec<Node>, Cell<usize>);

    impl Nodes for Counted {
        fn node(&self, number: u64) -> Result<Cow<'_, Node>, LedgerError> {
            self.1.set(self.1.get() + 1);
            Ok(Cow::Borrowed(&self.0[number as usize - 1]))
        }
    }

    /// Against a map, with fingerprints that come again, and with some that agree in many bits.
    #[test]
    fn every_fingerprint_is_found_in_few_steps_and_no_other() {
        let mut nodes = Counted(Vec::new(), Cell::new(0));
        let mut known: HashMap<Digest, u64> = HashMap::new();
        let fingerprint = |count: u64| {
            let mut bytes = *Digest::of(&[&(count % 3000).to_be_bytes()]).as_bytes();
            if count.is_multiple_of(7) {
                bytes[..31].fill(0);
            }
            Digest::from_bytes(bytes)
        };
        for number in 1..=5000u64 {
            let wanted = fingerprint(number * number);
            let found = find(&nodes, number - 1, wanted).expect("whole");
            assert_eq!(found.fate.reservation, known.get(&wanted).copied().unwrap_or(0));
            for (depth, &other) in found.others.iter().enumerate() {
                let newest = (1..number).rev().find(|&other| {
                    common_bits(&nodes.0[other as usize - 1].fingerprint, &wanted) == depth
                });
                assert!(number % 50 != 0 || newest.unwrap_or(0) == other, "{number} at {depth}");
            }
            let fate = Fate { reservation: number, ..Fate::default() };
            nodes.0.push(Node { fate, ..found });
            known.insert(wanted, number);
        }
        nodes.1.set(0);
        for count in 0..1000 {
            let (old, new) = (fingerprint(count), Digest::of(&[b"new", &[count as u8]]));
            assert_eq!(
                find(&nodes, 5000, old).expect("whole").fate.reservation,
                known.get(&old).copied().unwrap_or(0)
            );
            assert_eq!(find(&nodes, 5000, new).expect("whole").fate, Fate::default());
        }
        assert!(nodes.1.get() < 2000 * 14, "{} steps for 2000", nodes.1.get());
    }
}
