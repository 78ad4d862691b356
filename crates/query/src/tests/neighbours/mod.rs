//! The neighbour machine: generated queries over generated tables, with one unit removed and with
//! the same rows elsewhere.
//!
//! What a query does may depend on a unit's rows in no other way than through that unit's bounded
//! contribution. So for every query that is accepted, whatever the rows:
//!
//! | compared | after a unit is removed | after rows are shuffled and lie in other files |
//! |---|---|---|
//! | status, messages | it does not fail | it does not fail |
//! | rows before contributions are bounded, bit by bit | those of all other units | all |
//! | exact totals, with the same secret key | within what the plan claims | the same |
//! | columns of the answer, and its rows if all groups are public | the same | the same |
//!
//! A failure is made small and printed as a test for [`found`]. How to run millions of cases:
//! CONTRIBUTING.md.

mod case;
mod cell;
mod expressions;
mod found;
mod functions;
mod layout;
mod machine;
mod mutations;
mod outcome;
mod query;
mod tree;
mod violation;
mod world;
