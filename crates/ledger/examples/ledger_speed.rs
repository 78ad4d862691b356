//! How long a ledger takes, beside the disk that it waits for: `cargo run --release -p reticent-ledger --example ledger_speed [FOLDER]`.

use reticent_accounting::Budget;
use reticent_events::Event;
use reticent_ledger::{Admission, Digest, Ledger, Limits, Protected, Request, verify};
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

const RELEASES: usize = 5_000;

/// The median, in milliseconds.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn milliseconds(begin: Instant) -> f64 {
    1e3 * begin.elapsed().as_secs_f64()
}

fn main() -> Result<(), Box<dyn Error>> {
    let place = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(place)?;
    let path = folder.path().join("ledger");
    let limits = Limits::new(Budget::ZeroConcentrated { rho: 1e6 }, 0.0)?;
    let text = r#"[{"name":"workers","sources":[{"path":"/data/workers.csv"}],"unit":"worker"}]"#;
    let protects: Protected = serde_json::from_str(text)?;
    let mut ledger = Ledger::create(&path, limits, &protects)?;
    let mut plain = std::fs::File::create(folder.path().join("plain"))?;
    let (mut disk, mut reserving, mut completing) = (Vec::new(), Vec::new(), Vec::new());
    for count in 0..RELEASES {
        let query = format!("SELECT town, COUNT(*) FROM workers WHERE born < {count} GROUP BY town");
        let request = Request {
            fingerprint: Digest::of(&[query.as_bytes()]),
            query,
            events: vec![Event::Gaussian { sigma: 2.0, sensitivity: 1.0 }],
            selection_delta: 0.0,
            fresh: false,
        };
        let begin = Instant::now();
        plain.write_all(&[0; 4096])?;
        plain.sync_all()?;
        disk.push(milliseconds(begin));
        let begin = Instant::now();
        let Admission::Reserved(reservation) = ledger.reserve(&request)? else { return Err("asked twice".into()) };
        reserving.push(milliseconds(begin));
        let begin = Instant::now();
        ledger.complete(&reservation, &[b'x'; 300])?;
        completing.push(milliseconds(begin));
    }
    let first = |times: &[f64]| median(times[..100].to_vec());
    let last = |times: &[f64]| median(times[RELEASES - 100..].to_vec());
    println!("write and fsync of 4 KiB     {:8.3} ms", median(disk.clone()));
    println!(
        "reserve, in an empty ledger  {:8.3} ms, {:.1} times that",
        first(&reserving),
        first(&reserving) / first(&disk)
    );
    println!(
        "reserve, {} entries       {:8.3} ms, {:.1} times that",
        2 * RELEASES,
        last(&reserving),
        last(&reserving) / last(&disk)
    );
    println!(
        "complete, {} entries      {:8.3} ms, {:.1} times that",
        2 * RELEASES,
        last(&completing),
        last(&completing) / last(&disk)
    );
    drop(ledger);
    let bytes = std::fs::read(&path)?;
    let begin = Instant::now();
    let digest = Digest::of(&[&bytes]);
    let hashing = milliseconds(begin);
    println!("SHA-256 of the file          {hashing:8.3} ms, {} bytes, {digest}", bytes.len());
    let begin = Instant::now();
    Ledger::open(&path, &limits, &protects)?;
    let opening = milliseconds(begin);
    println!("open, {} entries          {opening:8.3} ms, {:.1} times the hash", 2 * RELEASES + 1, opening / hashing);
    let begin = Instant::now();
    verify(&path, None)?;
    let verifying = milliseconds(begin);
    println!("verify                       {verifying:8.3} ms, {:.1} times the hash", verifying / hashing);
    Ok(())
}
