//! The public domain: attributes, each with a known number of values.

use crate::WorkloadError;
use std::fmt;

/// The attributes of a table and how many values each has. All of it is public: a size that was
/// read from the data would leak.
///
/// A row is one value of each attribute, numbered from 0. Tables over some of the attributes are in
/// row-major order: the last attribute changes fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    names: Vec<String>,
    sizes: Vec<u64>,
}

/// The most attributes.
const MOST_ATTRIBUTES: usize = 64;

/// The most values of one attribute.
const MOST_VALUES: u64 = 1 << 31;

impl Domain {
    /// The attributes with their sizes.
    ///
    /// # Errors
    /// If there are none or more than 64, a name is empty, contains a comma or semicolon, or is
    /// there twice, or a size is 0 or above `2^31`.
    pub fn new<N: Into<String>>(
        attributes: impl IntoIterator<Item = (N, u64)>,
    ) -> Result<Self, WorkloadError> {
        let (names, sizes): (Vec<String>, Vec<u64>) =
            attributes.into_iter().map(|(name, size)| (name.into(), size)).unzip();
        let refuse = |problem: String| Err(WorkloadError::Domain(problem));
        if names.is_empty() {
            return refuse(
                "it has no attributes: name at least one with its number of values".into(),
            );
        }
        if names.len() > MOST_ATTRIBUTES {
            return refuse(format!(
                "it has {} attributes, and {MOST_ATTRIBUTES} is the most",
                names.len()
            ));
        }
        for (index, (name, &size)) in names.iter().zip(&sizes).enumerate() {
            if name.trim() != name || name.is_empty() || name.contains([',', ';', '\n']) {
                return refuse(format!(
                    "`{name}` is no name of an attribute: it must not be empty, begin or end with \
                     a space, or contain a comma, a semicolon or a line break"
                ));
            }
            if names[..index].contains(name) {
                return refuse(format!("the attribute `{name}` is there twice"));
            }
            if !(1..=MOST_VALUES).contains(&size) {
                return refuse(format!(
                    "the attribute `{name}` has {size} values, but it must have from 1 to 2^31"
                ));
            }
        }
        Ok(Domain { names, sizes })
    }

    /// How many attributes there are.
    pub fn attributes(&self) -> usize {
        self.sizes.len()
    }

    /// The name of an attribute by its index; none if there is no such attribute.
    pub fn name(&self, index: usize) -> Option<&str> {
        self.names.get(index).map(String::as_str)
    }

    /// The sizes in order.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// The index of a named attribute.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn index_of(&self, name: &str) -> Result<usize, WorkloadError> {
        self.names.iter().position(|known| known == name).ok_or_else(|| {
            WorkloadError::Domain(format!(
                "there is no attribute `{name}`; there are {}",
                self.names.join(", ")
            ))
        })
    }

    /// The set of named attributes.
    ///
    /// # Errors
    /// If a name is unknown or there twice.
    pub fn set_of(&self, names: &[&str]) -> Result<Attributes, WorkloadError> {
        let mut set = Attributes::NONE;
        for name in names {
            let index = self.index_of(name)?;
            if set.contains(index) {
                return Err(WorkloadError::Domain(format!(
                    "the attribute `{name}` is there twice"
                )));
            }
            set = set.with(index);
        }
        Ok(set)
    }

    /// All attributes.
    pub fn all(&self) -> Attributes {
        (0..self.attributes()).fold(Attributes::NONE, Attributes::with)
    }

    /// How many cells the table over a set has; none if the set names attributes that do not exist
    /// or the number does not fit.
    pub fn cells(&self, set: Attributes) -> Option<u64> {
        set.iter().try_fold(1u64, |product, index| product.checked_mul(*self.sizes.get(index)?))
    }

    /// The sizes of the attributes of a set, in order. Those that do not exist are left out.
    pub(crate) fn shape(&self, set: Attributes) -> Vec<usize> {
        set.iter().filter_map(|index| self.sizes.get(index)).map(|&size| size as usize).collect()
    }

    /// A set by its names.
    pub fn show(&self, set: Attributes) -> String {
        let names: Vec<&str> = set.iter().filter_map(|index| self.name(index)).collect();
        if names.is_empty() { "total".into() } else { names.join(", ") }
    }
}

/// A set of attributes of a [`Domain`], by their indices from 0 to 63.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attributes(u64);

impl Attributes {
    /// No attribute: the table over it is the total alone.
    pub const NONE: Attributes = Attributes(0);

    /// The set with one more attribute. An index above 63 belongs to no domain and changes nothing.
    #[must_use]
    pub fn with(self, index: usize) -> Self {
        if index < MOST_ATTRIBUTES { Attributes(self.0 | 1 << index) } else { self }
    }

    /// Whether an attribute belongs to it.
    pub fn contains(self, index: usize) -> bool {
        index < MOST_ATTRIBUTES && self.0 >> index & 1 == 1
    }

    /// Whether every attribute of `self` is in `other`.
    pub fn is_subset_of(self, other: Attributes) -> bool {
        self.0 & !other.0 == 0
    }

    /// The attributes of both.
    #[must_use]
    pub fn intersection(self, other: Attributes) -> Self {
        Attributes(self.0 & other.0)
    }

    /// The attributes of either.
    #[must_use]
    pub fn union(self, other: Attributes) -> Self {
        Attributes(self.0 | other.0)
    }

    /// The attributes of `self` that are not in `other`.
    #[must_use]
    pub fn without(self, other: Attributes) -> Self {
        Attributes(self.0 & !other.0)
    }

    /// How many attributes it has.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The indices, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..MOST_ATTRIBUTES).filter(move |&index| self.contains(index))
    }

    /// All subsets, the empty one first and the set itself last.
    pub fn subsets(self) -> impl Iterator<Item = Attributes> {
        let mut next = Some(0u64);
        std::iter::from_fn(move || {
            let current = next?;
            // The next larger number whose bits are all in the set.
            next = (current != self.0).then(|| (current | !self.0).wrapping_add(1) & self.0);
            Some(Attributes(current))
        })
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_domain_is_refused_by_name() {
        let refused = |attributes: Vec<(&str, u64)>| {
            Domain::new(attributes).expect_err("refused").to_string()
        };
        assert!(refused(vec![]).contains("no attributes"));
        assert!(refused(vec![("a", 0)]).contains("`a` has 0 values"));
        assert!(refused(vec![("a", 1 << 32)]).contains("from 1 to 2^31"));
        assert!(refused(vec![("a", 2), ("a", 3)]).contains("`a` is there twice"));
        assert!(refused(vec![("", 2)]).contains("no name"));
        assert!(refused(vec![("a,b", 2)]).contains("comma"));
        let many: Vec<(String, u64)> = (0..65).map(|index| (index.to_string(), 2)).collect();
        assert!(Domain::new(many).is_err());
    }

    #[test]
    fn cells_overflow_to_none_and_not_to_a_wrong_number() {
        let domain = Domain::new([("a", 1 << 31), ("b", 1 << 31), ("c", 8)]).expect("valid");
        assert_eq!(domain.cells(domain.set_of(&["a", "b"]).expect("known")), Some(1 << 62));
        assert_eq!(domain.cells(domain.all()), None);
        assert_eq!(domain.cells(Attributes::NONE), Some(1));
        assert_eq!(domain.cells(Attributes::NONE.with(7)), None);
        assert!(domain.set_of(&["a", "d"]).is_err() && domain.set_of(&["a", "a"]).is_err());
    }

    #[test]
    fn subsets_are_all_there_once() {
        let set = Attributes::NONE.with(0).with(3).with(63);
        let subsets: Vec<Attributes> = set.subsets().collect();
        assert_eq!(subsets.len(), 8);
        assert_eq!((subsets[0], subsets[7]), (Attributes::NONE, set));
        assert!(subsets.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(subsets.iter().all(|subset| subset.is_subset_of(set)));
        assert_eq!(Attributes::NONE.subsets().count(), 1);
    }
}
