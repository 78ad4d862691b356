//! Mends that tests can take out again, to see that the neighbour machine finds what they are for.
//!
//! A mend is taken out on one thread, and on those of a runtime that is made for it: other tests,
//! which run at the same time, keep theirs. Without the feature `mutation`, which tests alone name,
//! nothing of this remains: [`is_out`] is the constant `false`.

/// What keeps units apart, or a query from failing, and can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mend {
    /// A unit is in at most `max_groups` groups. Without: in one more.
    GroupLimit,
    /// Which groups a unit keeps follows from a keyed hash. Without: from where its rows are in
    /// batches.
    KeyedOrder,
    /// Rounding that overflows is NULL, and a kernel that fails is caught. Without: the query
    /// fails.
    Rounding,
    /// Sums of reals by unit are exact. Without: they are rounded in the order of the rows.
    ExactSums,
    /// A pattern of `ILIKE` is ours, and short. Without: of any length, and matched by Arrow's
    /// kernel, uncaught.
    Ilike,
    /// The first bytes of a CSV file without a header are data. Without: marks of other kinds of
    /// files are looked for.
    Marks,
    /// A value is computed from its row alone. Without: the last row of a batch is NULL.
    OwnRow,
}

/// Whether a mend is taken out here.
#[cfg(not(feature = "mutation"))]
#[inline(always)]
pub const fn is_out(_: Mend) -> bool {
    false
}

#[cfg(feature = "mutation")]
thread_local! {
    static OUT: std::cell::Cell<Option<Mend>> = const { std::cell::Cell::new(None) };
}

/// Whether a mend is taken out here.
#[cfg(feature = "mutation")]
pub fn is_out(mend: Mend) -> bool {
    OUT.get() == Some(mend)
}

/// Takes a mend out on this thread, or puts all back.
#[cfg(feature = "mutation")]
pub fn take_out(mend: Option<Mend>) {
    OUT.set(mend);
}
