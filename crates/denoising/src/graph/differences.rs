//! Differences across edges, of order 0, 1 and 2.

use super::Graph;
use super::trend_filtering::Order;
use std::ops::{Add, Mul, Sub};

/// Numbers that a linear operator can be applied to: `f64` for speed, enclosures for proof.
pub(crate) trait Scalar:
    Copy + From<f64> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
}

impl<T: Copy + From<f64> + Add<Output = T> + Sub<Output = T> + Mul<Output = T>> Scalar for T {}

/// The operator `D` whose l1 norm trend filtering penalises (Wang, Sharpnack, Smola,
/// Tibshirani, *Trend filtering on graphs*, JMLR 17, 2016, Section 2).
///
/// With the incidence matrix `E`, `(E x)_e = x_tail - x_head`, the weights `C` and the Laplacian
/// `L = E^T C E`:
///
/// | order | `D` | penalty |
/// |---|---|---|
/// | 0 | `E` | `sum_e c_e abs(x_tail - x_head)` |
/// | 1 | `L` | `sum_i abs((L x)_i)` |
/// | 2 | `E L` | `sum_e c_e abs((E L x)_e)` |
///
/// For weights 1 these are the paper's operators. The paper leaves weights open; here the weight of
/// an edge multiplies its term.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Differences<'g> {
    pub(crate) graph: &'g Graph,
    pub(crate) order: Order,
}

impl Differences<'_> {
    /// `D x`.
    pub(crate) fn apply<T: Scalar>(&self, x: &[T]) -> Vec<T> {
        match self.order {
            Order::Constant => across_edges(self.graph, x),
            Order::Linear => laplacian(self.graph, x),
            Order::Quadratic => across_edges(self.graph, &laplacian(self.graph, x)),
        }
    }

    /// `D^T u`.
    pub(crate) fn transposed<T: Scalar>(&self, u: &[T]) -> Vec<T> {
        match self.order {
            Order::Constant => net_outflow(self.graph, u),
            Order::Linear => laplacian(self.graph, u),
            Order::Quadratic => laplacian(self.graph, &net_outflow(self.graph, u)),
        }
    }

    /// `lambda c`, the largest dual variable of each row of `D`.
    pub(crate) fn capacities(&self, lambda: f64) -> Vec<f64> {
        match self.order {
            Order::Linear => vec![lambda; self.graph.node_count()],
            Order::Constant | Order::Quadratic => {
                self.graph.edge_list().iter().map(|edge| lambda * edge.weight).collect()
            }
        }
    }
}

/// `E x`.
pub(crate) fn across_edges<T: Scalar>(graph: &Graph, x: &[T]) -> Vec<T> {
    graph.edge_list().iter().map(|edge| x[edge.tail as usize] - x[edge.head as usize]).collect()
}

/// `E^T u`: what flows out of each node when `u_e` flows from tail to head.
pub(crate) fn net_outflow<T: Scalar>(graph: &Graph, u: &[T]) -> Vec<T> {
    let mut outflow = vec![T::from(0.0); graph.node_count()];
    for (edge, &flow) in graph.edge_list().iter().zip(u) {
        outflow[edge.tail as usize] = outflow[edge.tail as usize] + flow;
        outflow[edge.head as usize] = outflow[edge.head as usize] - flow;
    }
    outflow
}

/// `L x = E^T C E x`, which is its own transpose.
pub(crate) fn laplacian<T: Scalar>(graph: &Graph, x: &[T]) -> Vec<T> {
    let weighted: Vec<T> = graph
        .edge_list()
        .iter()
        .map(|edge| T::from(edge.weight) * (x[edge.tail as usize] - x[edge.head as usize]))
        .collect();
    net_outflow(graph, &weighted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_line_the_operators_are_divided_differences() {
        let line = Graph::line(6).expect("a line");
        let cubes: Vec<f64> = (0..6).map(|i| f64::from(i * i * i)).collect();
        let apply = |order| Differences { graph: &line, order }.apply(&cubes);
        assert_eq!(apply(Order::Constant), [-1.0, -7.0, -19.0, -37.0, -61.0]);
        // Inside, (L x)_i = -x_(i-1) + 2 x_i - x_(i+1) = -6 i.
        assert_eq!(apply(Order::Linear)[1..5], [-6.0, -12.0, -18.0, -24.0]);
        assert_eq!(apply(Order::Quadratic)[1..4], [6.0, 6.0, 6.0]);
    }

    #[test]
    fn the_transpose_is_the_adjoint() {
        let graph = Graph::weighted(5, [(0, 1, 2.0), (1, 2, 0.5), (2, 0, 3.0), (3, 2, 1.0)])
            .expect("a graph");
        let x = [1.0, -2.0, 4.0, 8.0, 16.0];
        for order in [Order::Constant, Order::Linear, Order::Quadratic] {
            let differences = Differences { graph: &graph, order };
            let dx = differences.apply(&x);
            let u: Vec<f64> = (0..dx.len()).map(|e| 1.0 + e as f64 * e as f64).collect();
            let left: f64 = dx.iter().zip(&u).map(|(a, b)| a * b).sum();
            let right: f64 = differences.transposed(&u).iter().zip(&x).map(|(a, b)| a * b).sum();
            assert_eq!(left, right, "{order:?}");
        }
    }
}
