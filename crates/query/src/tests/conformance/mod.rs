//! What every source and every engine must keep, run for each of them.
//!
//! A test here takes a [`Setting`]: where the rows come from, and whether their totals are computed
//! as a whole or in parts by unit that are written, read and merged. A new source or engine is one
//! more line at the end of this file, with a seed of its own: generated queries are divided between
//! the settings, and not the same for each.

mod adversary;
mod agreement;
mod in_parts;
mod one_row;
mod sensitivity;
mod setting;

use setting::Storage;
pub(super) use setting::{Content, Setting, Stored};

macro_rules! conformance {
    ($($name:ident: $storage:expr, $parts:expr, $seed:expr;)*) => {$(
        mod $name {
            use super::*;

            const SETTING: Setting = Setting { storage: $storage, parts: $parts };

            #[test]
            fn no_single_row_changes_status_columns_or_messages() {
                one_row::no_single_row_changes_status_columns_or_messages(SETTING);
            }

            #[test]
            fn an_empty_table_shows_its_public_groups_and_one_row_without_any() {
                one_row::an_empty_table_shows_its_public_groups_and_one_row_without_any(SETTING);
            }

            #[test]
            fn a_row_of_nobody_counts_for_nothing() {
                one_row::a_row_of_nobody_counts_for_nothing(SETTING);
            }

            #[test]
            fn one_person_moves_no_more_than_the_plan_says() {
                sensitivity::compare_many(SETTING, $seed, 4, 20);
            }

            #[test]
            fn answers_are_those_of_the_plain_engine() {
                agreement::compare_many(SETTING, $seed, 5, 25);
            }

            #[test]
            fn a_person_with_a_million_rows_counts_as_two() {
                adversary::a_person_with_a_million_rows_counts_as_two(SETTING);
            }

            #[test]
            fn a_person_in_very_many_groups_counts_in_three() {
                adversary::a_person_in_very_many_groups_counts_in_three(SETTING);
            }

            #[test]
            fn the_order_of_rows_changes_nothing() {
                adversary::the_order_of_rows_changes_nothing(SETTING);
            }

            #[test]
            fn a_join_with_oneself_counts_no_more_than_the_limits() {
                adversary::a_join_with_oneself_counts_no_more_than_the_limits(SETTING);
            }

            #[test]
            fn sums_of_a_unit_at_the_limits_of_integers_count_for_no_more() {
                adversary::sums_of_a_unit_at_the_limits_of_integers_count_for_no_more(SETTING);
            }
        }
    )*};
}

conformance! {
    csv: Storage::Csv, None, 1;
    parquet: Storage::Parquet, None, 2;
    arrow: Storage::Arrow, None, 3;
    memory: Storage::Memory, None, 4;
    stream: Storage::Stream, None, 5;
    in_one_part: Storage::Memory, Some(1), 6;
    in_seven_parts: Storage::Parquet, Some(7), 7;
}
