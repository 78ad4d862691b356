//! Lecture notes, *Differentially private algorithms*.

pub(crate) mod counting;
pub(crate) mod densities;
pub(crate) mod weights;
