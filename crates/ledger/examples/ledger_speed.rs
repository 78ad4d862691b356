//! How long a ledger takes at 10, 1,000 and 100,000 entries: `cargo run --release -p
//! reticent-ledger --example ledger_speed [FOLDER]`. In a folder in memory, such as /dev/shm,
//! without the disk.
use reticent_accounting::FilterBudget;
use reticent_events::Event;
use reticent_ledger::{Admission, ChargeRequest, Digest, Ledger, Limits, Protected, verify};
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
fn timed<T>(
    times: usize,
    mut run: impl FnMut(usize) -> Result<T, Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    let mut all = Vec::new();
    for count in 0..times {
        let begin = Instant::now();
        run(count)?;
        all.push(1e3 * begin.elapsed().as_secs_f64());
    }
    Ok(median(all))
}
fn request(count: usize) -> ChargeRequest {
    let query = format!("SELECT town, COUNT(*) FROM workers WHERE born < {count} GROUP BY town");
    ChargeRequest {
        fingerprint: Digest::of(&[query.as_bytes()]),
        query,
        events: vec![Event::Gaussian { sigma: 2.0, sensitivity: 1.0 }],
        selection_delta: 0.0,
        fresh: false,
        asker: None,
    }
}
fn main() -> Result<(), Box<dyn Error>> {
    let parent = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let limits = Limits::new(FilterBudget::ZeroConcentrated { rho: 1e6 }, 0.0)?;
    let text = r#"[{"name":"workers","sources":[{"path":"/data/workers.csv"}],"unit":"worker"}]"#;
    let protects: Protected = serde_json::from_str(text)?;
    for length in [10usize, 1000, 100_000] {
        let folder = tempfile::tempdir_in(&parent)?;
        let path = folder.path().join("ledger");
        let ledger = Ledger::create(&path, limits, &protects)?;
        for count in 0..length / 2 {
            let Admission::Reserved(r) = ledger.reserve(&request(count))? else {
                return Err("twice".into());
            };
            ledger.complete(&r, &[b'x'; 300])?;
        }
        println!("{} entries, {} bytes", length + 1, std::fs::metadata(&path)?.len());
        let print = |what: &str, t: f64| println!("  {what:32} {t:10.3} ms");
        print(
            "open, and the stored answer",
            timed(9, |c| {
                Ok(Ledger::open(&path, &limits, &protects)?
                    .lookup(request(c % (length / 2)).fingerprint)?
                    .ok_or("none")?)
            })?,
        );
        print(
            "stored answer, of an open handle",
            timed(101, |c| {
                Ok(ledger.lookup(request(c % (length / 2)).fingerprint)?.ok_or("none")?)
            })?,
        );
        let mut held = Vec::new();
        print(
            "reserve",
            timed(51, |c| {
                held.push(ledger.reserve(&request(length + c))?);
                Ok(())
            })?,
        );
        let mut held = held.into_iter();
        print(
            "complete",
            timed(51, |_| {
                let Some(Admission::Reserved(r)) = held.next() else { return Err("no".into()) };
                ledger.complete(&r, &[b'x'; 300])?;
                Ok(())
            })?,
        );
        print("recent statement", timed(9, |_| Ok(ledger.recent_statement(None)?))?);
        print("statement", timed(3, |_| Ok(ledger.statement(None)?))?);
        print("verify", timed(3, |_| Ok(verify(&path, None)?))?);
    }
    Ok(())
}
