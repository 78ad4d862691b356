//! Workers under a supervisor: what ends, hangs or eats up a worker is found like everything else.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::corpus;
use crate::minimal::minimal;
use crate::target::Target;

/// How long an input may take. The slowest takes a second; on a machine that is busy otherwise, a
/// worker was seen to wait for a minute for its turn.
pub const LIMIT: Duration = Duration::from_secs(300);

/// How much address space a worker has, in kilobytes.
pub const MEMORY: u64 = 8 << 20;

/// The files by which a worker talks to its supervisor.
pub const CURRENT: &str = "current";
/// See [`CURRENT`].
pub const FAILURE: &str = "failure";
/// See [`CURRENT`].
pub const COUNT: &str = "count";

/// What a campaign did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many inputs were tried.
    pub inputs: u64,
    /// What was found, each once.
    pub findings: Vec<PathBuf>,
}

/// Starts this program with these arguments and little memory.
fn start(arguments: &[&str], folder: &Path) -> io::Result<Child> {
    Command::new("sh")
        .args(["-c", "ulimit -v \"$0\" && exec \"$@\"", &MEMORY.to_string()])
        .arg(std::env::current_exe()?)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(folder.join("stderr"))?)
        .spawn()
}

/// Waits for a worker. None if it did its work; or what must never happen, as `kind: what`.
fn watch(mut child: Child, folder: &Path) -> io::Result<Option<String>> {
    let current = folder.join(CURRENT);
    let begun = SystemTime::now();
    loop {
        if let Some(status) = child.wait_timeout()? {
            if status.success() {
                return Ok(None);
            }
            if let Ok(said) = std::fs::read_to_string(folder.join(FAILURE)) {
                return Ok(Some(said));
            }
            let errors = std::fs::read(folder.join("stderr")).unwrap_or_default();
            let errors = String::from_utf8_lossy(&errors);
            let last = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            // What this program says of itself is not about an input.
            let own = status.code() == Some(2);
            return if own {
                Err(io::Error::other(last))
            } else {
                Ok(Some(format!("ended: {status}: {last}")))
            };
        }
        let last = std::fs::metadata(&current)
            .and_then(|file| file.modified())
            .unwrap_or(begun)
            .max(begun);
        if last.elapsed().is_ok_and(|quiet| quiet > LIMIT) {
            child.kill()?;
            child.wait()?;
            return Ok(Some(format!("hang: no answer within {} seconds", LIMIT.as_secs())));
        }
    }
}

/// A child that is looked at now and then.
trait WaitTimeout {
    fn wait_timeout(&mut self) -> io::Result<Option<std::process::ExitStatus>>;
}

impl WaitTimeout for Child {
    fn wait_timeout(&mut self) -> io::Result<Option<std::process::ExitStatus>> {
        let status = self.try_wait()?;
        if status.is_none() {
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(status)
    }
}

/// What one input does in a process of its own: none, or what must never happen.
fn try_one(target: Target, input: &[u8]) -> io::Result<Option<String>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("input");
    std::fs::write(&path, input)?;
    let (path, place) = (path.to_string_lossy(), folder.path().to_string_lossy());
    watch(
        start(&[target.name(), "--input", &path, "--worker", &place], folder.path())?,
        folder.path(),
    )
}

/// The kind of what was found: the text before the colon. An input is minimised within its kind.
fn kind(what: &str) -> &str {
    what.split(':').next().unwrap_or_default()
}

/// Without numbers, so that the same place is not found again and again.
fn key(target: Target, what: &str) -> String {
    let letters: String = what.chars().filter(|c| !c.is_ascii_digit()).take(160).collect();
    format!("{} {letters}", target.name())
}

/// Tries inputs for some time. What is found is minimised and written to `fuzz/findings`.
///
/// # Errors
/// If processes cannot be started, or files cannot be written.
pub fn campaign(
    target: Target,
    seconds: u64,
    seed: u64,
    known: &mut BTreeSet<String>,
) -> io::Result<Report> {
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut report = Report::default();
    let mut seed = seed;
    while Instant::now() < end {
        let folder = tempfile::tempdir()?;
        let left = end.saturating_duration_since(Instant::now()).as_secs().max(1).to_string();
        let (place, seed_text) = (folder.path().to_string_lossy(), seed.to_string());
        let arguments =
            [target.name(), "--worker", &place, "--seconds", &left, "--seed", &seed_text];
        let what = watch(start(&arguments, folder.path())?, folder.path())?;
        let counted = std::fs::read(folder.path().join(COUNT)).unwrap_or_default();
        report.inputs += String::from_utf8_lossy(&counted).trim().parse().unwrap_or(0);
        let Some(what) = what else { break };
        let input = std::fs::read(folder.path().join(CURRENT)).unwrap_or_default();
        if known.insert(key(target, &what)) {
            report.findings.push(written(target, &input, &what)?);
        }
        seed = seed.wrapping_add(1);
    }
    Ok(report)
}

fn written(target: Target, input: &[u8], what: &str) -> io::Result<PathBuf> {
    let minutes = if kind(what) == "hang" { 10 } else { 2 };
    let deadline = Instant::now() + Duration::from_secs(60 * minutes);
    let again = |input: &[u8]| {
        try_one(target, input).ok().flatten().is_some_and(|other| kind(&other) == kind(what))
    };
    let alone = again(input);
    let smallest = if alone { minimal(input, deadline, again) } else { input.to_vec() };
    let folder = corpus::home().join("findings");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{}-{}", target.name(), corpus::name(&smallest)));
    std::fs::write(&path, &smallest)?;
    let note =
        if alone { "" } else { "It does not happen in a new process with this input alone.\n" };
    let shown = path
        .strip_prefix(corpus::home().parent().unwrap_or(Path::new("")))
        .unwrap_or(&path)
        .display();
    let text = format!("{what}\n{note}cargo run -p fuzz -- {} --input {shown}\n", target.name());
    std::fs::write(path.with_extension("txt"), text)?;
    Ok(path)
}
