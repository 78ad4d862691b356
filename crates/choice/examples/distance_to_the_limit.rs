//! How far mechanisms are from the least error that any noise could have.

use reticent_choice::{AbsoluteError, Loss, ScalarQuery, SquaredError, optimum};
use reticent_mechanisms::{
    Delta, Distance, Epsilon, GaussianMechanism, GaussianMethod, Laplace, Mechanism, Neighbours,
    Sensitivity, TruncatedLaplace,
};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("epsilon delta metric limit optimal gaussian laplace truncated-laplace seconds");
    let query = ScalarQuery::Real { sensitivity: Distance::new(1.0)? };
    let scalar = Sensitivity::scalar(1.0, Neighbours::AddRemove)?;
    for epsilon in [0.1, 1.0, 4.0] {
        for delta in [1e-3, 1e-6, 1e-9] {
            let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(delta)?);
            let others: [Box<dyn Mechanism>; 3] = [
                Box::new(GaussianMechanism::calibrate(
                    GaussianMethod::Analytic,
                    &Distance::new(1.0)?.into(),
                    (epsilon, delta),
                )?),
                Box::new(Laplace::calibrate(&scalar, epsilon)?),
                Box::new(TruncatedLaplace::calibrate(&scalar, (epsilon, delta))?),
            ];
            for (metric, loss) in [("l1", &AbsoluteError as &dyn Loss), ("l2", &SquaredError)] {
                let start = Instant::now();
                let best = optimum(query, epsilon, delta, loss)?;
                let seconds = start.elapsed().as_secs_f64();
                print!(
                    "{} {:e} {metric} {:.6} {:.5}",
                    epsilon.get(),
                    delta.get(),
                    best.limit,
                    best.loss / best.limit
                );
                for errors in others.iter().filter_map(|mechanism| mechanism.errors()) {
                    let error = if metric == "l1" {
                        errors.mean_absolute
                    } else {
                        errors.root_mean_square.square()
                    };
                    print!(" {:.3}", error.upper() / best.limit);
                }
                println!(" {seconds:.2}");
            }
        }
    }
    Ok(())
}
