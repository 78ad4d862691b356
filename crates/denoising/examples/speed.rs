//! Seconds for ten million values, beside a plain pass over them in the same run.
//!
//! `cargo run --release -p reticent-denoising --example speed`

use reticent_denoising::shrinkage::{
    GaussianPrior, JamesStein, SureThreshold, ThresholdKind, Thresholding,
};
use reticent_denoising::{Denoiser, NoiseDescription, Release};
use std::error::Error;
use std::time::Instant;

const VALUES: usize = 10_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    // Not noise, but as spread out: what is timed does not depend on it.
    let values: Vec<f64> =
        (0..VALUES).map(|index| ((index as f64 * 0.618_033_988_75).fract() - 0.5) * 12.0).collect();
    let start = Instant::now();
    let plain: Vec<f64> = values.iter().map(|value| value * 0.5).collect();
    let pass = start.elapsed().as_secs_f64();
    println!(
        "{:<44} {pass:>7.3} s   (sum {:.3})",
        "one pass that allocates",
        plain.iter().sum::<f64>()
    );
    for noise in [NoiseDescription::gaussian(1.0)?, NoiseDescription::laplace(1.0)?] {
        let release = Release::new(values.clone(), noise)?;
        let soft: Box<dyn Denoiser> = Box::new(Thresholding::soft_universal());
        let others: [Box<dyn Denoiser>; 3] = [
            Box::new(JamesStein::positive_part()),
            Box::new(GaussianPrior::new(0.0, 2.0)?),
            Box::new(SureThreshold { kind: ThresholdKind::Soft }),
        ];
        for denoiser in std::iter::once(&soft).chain(&others) {
            let start = Instant::now();
            let denoised = denoiser.denoise(&release)?;
            let seconds = start.elapsed().as_secs_f64();
            let name = format!("{:?}, {}", release.noise().shape(), denoised.method);
            println!("{:<44.44} {seconds:>7.3} s, {:>6.1} passes", name, seconds / pass);
        }
    }
    Ok(())
}
