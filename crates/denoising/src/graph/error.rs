//! What can be wrong with a graph, a released vector on it, or a parameter.

use reticent_noise::randomness::RandomnessError;
use reticent_numerics::OutOfRange;

/// Why a graph could not be made or a vector on it could not be denoised.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GraphError {
    /// A parameter is outside what is accepted.
    #[error(transparent)]
    Parameter(#[from] OutOfRange),
    /// One entry of a vector is outside what is accepted.
    #[error("entry {position} of `{name}` is {value:e}, but it must be {accepted}")]
    Entry {
        /// Which vector.
        name: &'static str,
        /// The position, counted from 0.
        position: usize,
        /// What was given.
        value: f64,
        /// What would be accepted.
        accepted: &'static str,
    },
    /// Two things that must have the same length do not.
    #[error("there are {given} {what}, but {expected} are needed, one for each {each}")]
    Length {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many there must be.
        expected: usize,
        /// What each of them belongs to.
        each: &'static str,
    },
    /// The number of nodes or edges is zero or beyond what fits.
    #[error(
        "a graph with {given} {what} was asked for, but the number of {what} must be {accepted}"
    )]
    Size {
        /// Nodes or edges.
        what: &'static str,
        /// How many were asked for.
        given: usize,
        /// What would be accepted.
        accepted: &'static str,
    },
    /// An edge ends in a node that does not exist.
    #[error("edge {edge} names the node `{node}`, but the nodes are {accepted}")]
    MissingNode {
        /// The edge's index in the list, counted from 1.
        edge: usize,
        /// The node as it was written.
        node: String,
        /// Which nodes exist.
        accepted: String,
    },
    /// A weight is zero, negative, infinite or not a number.
    #[error("edge {edge} has the weight {value:e}, but a weight must be a number from 1e-9 to 1e9")]
    Weight {
        /// The edge's index in the list, counted from 1.
        edge: usize,
        /// What was given.
        value: f64,
    },
    /// The same edge has two different weights.
    #[error(
        "the edge between node {from} and node {to} is listed with the weights {first:e} and \
         {second:e}; give it one"
    )]
    ConflictingWeights {
        /// One end, counted from 0.
        from: usize,
        /// The other end, counted from 0.
        to: usize,
        /// One weight.
        first: f64,
        /// The other.
        second: f64,
    },
    /// A graph's name is not known.
    #[error(
        "no graph is called `{given}`; the names are `line` and `grid RxC`, such as `grid 20x30`"
    )]
    Name {
        /// What was given.
        given: String,
    },
    /// A node has two labels or a label has two nodes.
    #[error("the node label `{label}` is given twice; labels must differ")]
    RepeatedLabel {
        /// The label.
        label: String,
    },
    /// A line of an edge list cannot be read.
    #[error("line {line} of the edge list {problem}; a line is `u,v` or `u,v,weight`")]
    Line {
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The solver stopped before its certified gap was as small as asked for.
    #[error(
        "trend filtering with lambda {lambda:e} reached a certified relative duality gap of \
         {reached:e}, not the {wanted:e} that was asked for; \
         ask for a larger gap or another lambda"
    )]
    NotConverged {
        /// The penalty.
        lambda: f64,
        /// The certified relative gap at the end.
        reached: f64,
        /// What was asked for.
        wanted: f64,
    },
    /// The sparse factorisation failed.
    #[error("the sparse factorisation for trend filtering of order 1 or 2 failed: {reason}")]
    Factorisation {
        /// What the linear algebra said.
        reason: String,
    },
    /// A random walk did not cover the graph in the number of steps allowed.
    #[error(
        "a uniform spanning tree needs a random walk that covers the graph, and {steps} steps were \
         not enough; \
         use a breadth-first or depth-first tree"
    )]
    WalkTooLong {
        /// How many steps were taken.
        steps: u64,
    },
    /// No random bits could be had.
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
}
