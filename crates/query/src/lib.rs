//! Differentially private SQL.
