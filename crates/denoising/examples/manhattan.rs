//! Pick-ups at Manhattan's junctions, released for cabs and denoised on the road graph (Balle and Wang 2018, Section 5.3).
//!
//! A cab is in at most 5 pick-ups of an hour, so the l2 sensitivity of the counts is 5. The counts are released by the analytic Gaussian
//! mechanism; then each denoiser sees the release and the graph, and its error is compared with the truth over ten seeded releases.
//!
//! ```sh
//! cargo run --release -p reticent-denoising --example manhattan -- nodes.csv edges.csv counts.csv ...
//! ```
//!
//! `nodes.csv` has `node_id,lat,lon` with ids 1, 2, ...; `edges.csv` has `source,target`. A file of counts has one of three headers, by which it is known:
//! `...,pickup,...,pickup_lon,pickup_lat,...` (one line a trip: the busiest hour is taken, and each pick-up goes to the nearest junction within 150 m);
//! `hour,node_id,count` (the busiest hour is taken); `node_id,A,B,...` (the first column of counts is taken).

use reticent_denoising::graph::{Graph, GraphTrendFilter, GraphWavelets, NodeLabels, Order};
use reticent_denoising::shrinkage::{JamesStein, SureThreshold, ThresholdKind};
use reticent_denoising::{Denoiser, NoiseDescription, Release, Unchanged};
use reticent_mechanisms::{Delta, Distance, Epsilon, GaussianMechanism, GaussianMethod, Mechanism};
use reticent_noise::randomness::SeededRandom;
use std::collections::HashMap;
use std::error::Error;
use std::time::Instant;

const CAB_SENSITIVITY: f64 = 5.0;
const DELTA: f64 = 1e-6;
const RELEASES: u64 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [nodes, edges, counts @ ..] = &arguments[..] else {
        return Err("usage: manhattan nodes.csv edges.csv counts.csv ...".into());
    };
    let junctions = Junctions::read(nodes)?;
    let labels = NodeLabels::Numbered { first: 1, nodes: junctions.positions.len() };
    let graph = Graph::read_csv(std::fs::File::open(edges)?, &labels)?;
    println!("{} junctions, {} road sections", graph.node_count(), graph.edge_count());
    for path in counts {
        let (what, truth) = counts_at_junctions(path, &junctions)?;
        let most = truth.iter().copied().fold(0.0, f64::max);
        println!("\n{what}: {} pick-ups, at most {most} at a junction", truth.iter().sum::<f64>());
        for epsilon in [0.5, 1.0, 2.0, 4.0] {
            compare(&graph, &truth, epsilon)?;
        }
    }
    Ok(())
}

/// Prints the root mean squared error of every denoiser, the one it claims, and the time it takes.
fn compare(graph: &Graph, truth: &[f64], epsilon: f64) -> Result<(), Box<dyn Error>> {
    let (budget, slack) = (Epsilon::new(epsilon)?, Delta::new(DELTA)?);
    let mechanism =
        GaussianMechanism::calibrate(GaussianMethod::Analytic, budget, slack, Distance::new(CAB_SENSITIVITY)?)?;
    let releaser = mechanism.coordinate_releaser(u32::try_from(truth.len())?)?;
    let noise = NoiseDescription::gaussian(mechanism.scale())?;
    let mut releases = Vec::new();
    for seed in 0..RELEASES {
        let mut random = SeededRandom::new(seed);
        let values = truth.iter().map(|&count| releaser.release(count, &mut random)).collect::<Result<Vec<_>, _>>()?;
        releases.push(Release::new(values, noise.clone())?);
    }
    let denoisers: [(&str, Box<dyn Denoiser>); 8] = [
        ("none", Box::new(Unchanged)),
        ("James-Stein", Box::new(JamesStein::positive_part())),
        ("soft threshold", Box::new(SureThreshold { kind: ThresholdKind::Soft })),
        ("wavelets, 1 tree", Box::new(GraphWavelets::new(graph, 1, 1)?)),
        ("wavelets, 16 trees", Box::new(GraphWavelets::new(graph, 16, 1)?)),
        ("trend filter, order 0", Box::new(GraphTrendFilter::new(graph.clone(), Order::Constant))),
        ("trend filter, order 1", Box::new(GraphTrendFilter::new(graph.clone(), Order::Linear))),
        ("trend filter, order 2", Box::new(GraphTrendFilter::new(graph.clone(), Order::Quadratic))),
    ];
    println!("\n  epsilon {epsilon}, delta {DELTA:e}: sigma {:.2}", mechanism.scale());
    println!("  {:<22} {:>8} {:>10} {:>9}", "denoiser", "error", "estimated", "ms each");
    let count = (truth.len() as u64 * RELEASES) as f64;
    for (name, denoiser) in denoisers {
        let (mut squares, mut estimated) = (0.0, 0.0);
        let start = Instant::now();
        for release in &releases {
            let denoised = denoiser.denoise(release)?;
            squares += denoised.values.iter().zip(truth).map(|(x, truth)| (x - truth).powi(2)).sum::<f64>();
            estimated += denoised.risk_after.map_or(f64::NAN, |risk| risk.value);
        }
        let each = start.elapsed().as_secs_f64() * 1000.0 / RELEASES as f64;
        let (error, estimate) = ((squares / count).sqrt(), (estimated / count).max(0.0).sqrt());
        println!("  {name:<22} {error:>8.3} {estimate:>10.3} {each:>9.1}");
    }
    Ok(())
}

/// Where the junctions are, in metres.
struct Junctions {
    positions: Vec<(f64, f64)>,
    by_cell: HashMap<(i64, i64), Vec<usize>>,
}

/// Pick-ups further away than this from every junction are not on the graph.
const REACH: f64 = 150.0;

/// Metres east and north, near Manhattan: a degree of latitude is 111.2 km, and one of longitude `cos(40.75 degrees)` of that.
fn in_metres(latitude: f64, longitude: f64) -> (f64, f64) {
    (111_195.0 * 40.75_f64.to_radians().cos() * longitude, 111_195.0 * latitude)
}

fn cell(position: (f64, f64)) -> (i64, i64) {
    ((position.0 / REACH).floor() as i64, (position.1 / REACH).floor() as i64)
}

impl Junctions {
    fn read(path: &str) -> Result<Self, Box<dyn Error>> {
        let mut junctions = Junctions { positions: Vec::new(), by_cell: HashMap::new() };
        for record in csv::Reader::from_path(path)?.into_records() {
            let record = record?;
            let position = in_metres(record[1].parse()?, record[2].parse()?);
            junctions.by_cell.entry(cell(position)).or_default().push(junctions.positions.len());
            junctions.positions.push(position);
            if record[0].parse::<usize>()? != junctions.positions.len() {
                return Err(format!("the junctions of {path} are not numbered 1, 2, ...").into());
            }
        }
        Ok(junctions)
    }

    fn nearest(&self, position: (f64, f64)) -> Option<usize> {
        let distance = |&junction: &usize| {
            let (east, north) = self.positions[junction];
            (east - position.0).hypot(north - position.1)
        };
        let (column, row) = cell(position);
        let around = (-1..=1).flat_map(|i| (-1..=1).map(move |j| (column + i, row + j)));
        let near = around.filter_map(|cell| self.by_cell.get(&cell)).flatten().copied();
        near.filter(|junction| distance(junction) <= REACH).min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }
}

/// What was counted, and the count at each junction.
fn counts_at_junctions(path: &str, junctions: &Junctions) -> Result<(String, Vec<f64>), Box<dyn Error>> {
    let mut reader = csv::Reader::from_path(path)?;
    let header = reader.headers()?.clone();
    let column = |name: &str| header.iter().position(|field| field == name);
    let mut by_hour: HashMap<String, Vec<f64>> = HashMap::new();
    for record in reader.records() {
        let record = record?;
        let (hour, junction, count) = if let (Some(pickup), Some(lat), Some(lon)) =
            (column("pickup"), column("pickup_lat"), column("pickup_lon"))
        {
            let junction = junctions.nearest(in_metres(record[lat].parse()?, record[lon].parse()?));
            (record[pickup].chars().take(13).collect(), junction, 1.0)
        } else if let (Some(hour), Some(node), Some(count)) = (column("hour"), column("node_id"), column("count")) {
            (record[hour].to_string(), record[node].parse::<usize>()?.checked_sub(1), record[count].parse()?)
        } else if column("node_id") == Some(0) && header.len() > 1 {
            (header[1].to_string(), record[0].parse::<usize>()?.checked_sub(1), record[1].parse()?)
        } else {
            return Err(format!("the header of {path} is none of the three that are known").into());
        };
        let counts = by_hour.entry(hour).or_insert_with(|| vec![0.0; junctions.positions.len()]);
        if let Some(place) = junction.and_then(|junction| counts.get_mut(junction)) {
            *place += count;
        }
    }
    let busiest = by_hour.into_iter().max_by(|a, b| a.1.iter().sum::<f64>().total_cmp(&b.1.iter().sum::<f64>()));
    busiest.ok_or_else(|| format!("{path} has no lines").into())
}
