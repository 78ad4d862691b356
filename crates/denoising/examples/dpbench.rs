//! `auto` on the DPBench histograms: mean squared error against the release as it is, at three
//! losses.
//!
//! `cargo run --release -p reticent-denoising --example dpbench -- FOLDER`, where the folder holds
//! `dpbench_1d.csv` (one column a histogram) and `dpbench_2d_sparse.csv` (`dataset,row,col,count`,
//! on a grid of 256 by 256), both unpacked.

use reticent_denoising::shrinkage::Multiscale;
use reticent_denoising::{Auto, Denoiser, NoiseDescription, Release};
use reticent_noise::randomness::SeededRandom;
use reticent_noise::{Laplace, Lattice, Sampler};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

/// Independent releases of each histogram.
const RELEASES: u64 = 3;

/// A named vector of counts.
type Histogram = (String, Vec<f64>);

fn one_dimensional(path: &Path) -> Result<Vec<Histogram>, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    let mut lines = text.lines();
    let heading = lines.next().ok_or("the file is empty")?;
    let mut histograms: Vec<Histogram> =
        heading.split(',').map(|name| (name.to_string(), Vec::new())).collect();
    for line in lines {
        for ((_, counts), cell) in histograms.iter_mut().zip(line.split(',')) {
            counts.push(cell.parse()?);
        }
    }
    // A column of positions is no histogram.
    histograms.retain(|(_, counts)| {
        !counts.iter().enumerate().all(|(index, count)| *count == index as f64)
    });
    Ok(histograms)
}

fn two_dimensional(path: &Path) -> Result<Vec<Histogram>, Box<dyn Error>> {
    let mut histograms: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in std::fs::read_to_string(path)?.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [name, row, column, count] = cells[..] else {
            return Err(format!("not four cells: {line}").into());
        };
        let index = row.parse::<usize>()? * 256 + column.parse::<usize>()?;
        let counts = histograms.entry(name.to_string()).or_insert_with(|| vec![0.0; 256 * 256]);
        *counts.get_mut(index).ok_or("outside the grid")? = count.parse()?;
    }
    Ok(histograms.into_iter().collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("the folder of the histograms is missing")?;
    let mut histograms = one_dimensional(&Path::new(&folder).join("dpbench_1d.csv"))?;
    histograms.extend(two_dimensional(&Path::new(&folder).join("dpbench_2d_sparse.csv"))?);
    println!(
        "{:<22} {:>7} {:>14} {:>14} {:>7}  chosen",
        "histogram", "epsilon", "mse release", "mse auto", "ratio"
    );
    let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (index, (name, truth)) in histograms.iter().enumerate() {
        for (epsilon, text) in [(0.01, "0.01"), (0.1, "0.1"), (1.0, "1")] {
            let scale = 1.0 / epsilon;
            let lattice = Lattice::for_scale(scale)?;
            let sampler = Sampler::new(Laplace, scale, lattice)?;
            let (mut before, mut after, mut chosen) = (0.0, 0.0, String::new());
            for stream in 0..RELEASES {
                let mut random = SeededRandom::new(index as u64).stream(stream);
                let mut noisy = Vec::with_capacity(truth.len());
                for count in truth {
                    noisy.push(count + lattice.value(sampler.draw(&mut random)?));
                }
                let release = Release::new(noisy, NoiseDescription::laplace(scale)?)?;
                // That counts are not negative is public, and so is where the cells lie.
                let auto = [Some(32), None].into_iter().try_fold(
                    Auto::new().within(0.0, f64::INFINITY),
                    |auto, block| {
                        let (rows, columns) =
                            if truth.len() == 256 * 256 { (256, 256) } else { (1, truth.len()) };
                        Ok::<_, Box<dyn Error>>(
                            auto.with(Box::new(Multiscale::grid(rows, columns, block)?)),
                        )
                    },
                )?;
                let denoised = auto.denoise(&release)?;
                let error = |values: &[f64]| {
                    values.iter().zip(truth).map(|(x, y)| (x - y).powi(2)).sum::<f64>()
                };
                before += error(release.values()) / truth.len() as f64 / RELEASES as f64;
                after += error(&denoised.values) / truth.len() as f64 / RELEASES as f64;
                chosen = denoised.method;
            }
            let ratio = after / before;
            println!("{name:<22} {text:>7} {before:>14.4} {after:>14.4} {ratio:>7.4}  {chosen}");
            ratios.entry(text).or_default().push(ratio);
        }
    }
    for (epsilon, mut ratios) in ratios {
        ratios.sort_by(f64::total_cmp);
        let (median, worst) = (ratios[ratios.len() / 2], ratios[ratios.len() - 1]);
        println!(
            "epsilon {epsilon}: median ratio {median:.4}, worst {worst:.4}, {} histograms",
            ratios.len()
        );
    }
    Ok(())
}
