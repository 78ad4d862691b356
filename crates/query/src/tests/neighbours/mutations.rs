//! The machine finds what a mend is for once it is taken out, within the number of cases that the
//! tests have time for.

use super::machine::{CASES, Run, SEED};
use crate::tests::noiseless::{wait, wait_without};
use reticent_sources::mutation::Mend;

/// Asserts that there is a violation without the mend that is none with it, among queries with a
/// word in them.
fn is_found(mend: Mend, with: &str) {
    let run = Run { seed: SEED, cases: CASES, most: 1, with, without: &[], shown: false };
    let report = wait_without(Some(mend), run.report());
    let (after, violation, case) = report.found.first().expect("a violation is found");
    println!("without {mend:?}: after {after} cases, {violation:?}");
    assert_eq!(wait(case.violation()), None, "it is the mend's");
}

#[test]
fn a_group_too_many_is_found() {
    is_found(Mend::GroupLimit, "");
}

#[test]
fn an_order_of_groups_that_depends_on_that_of_rows_is_found() {
    is_found(Mend::KeyedOrder, "");
}

#[test]
fn a_rounding_that_fails_is_found() {
    is_found(Mend::Rounding, "ROUND(");
}

#[test]
fn sums_in_the_order_of_rows_are_found() {
    is_found(Mend::ExactSums, "");
}

#[test]
fn a_kernel_that_looks_at_a_whole_batch_of_texts_is_found() {
    is_found(Mend::Ilike, "ILIKE");
}

#[test]
fn marks_that_are_looked_for_in_rows_are_found() {
    is_found(Mend::Marks, "");
}

#[test]
fn a_value_that_depends_on_its_batch_is_found() {
    is_found(Mend::OwnRow, "");
}
