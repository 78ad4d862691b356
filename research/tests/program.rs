//! The program `reproduce`.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// What a run left behind.
struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Run {
    fn done(self) -> String {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self.stdout
    }

    fn json(self) -> Value {
        serde_json::from_str(&self.done()).unwrap()
    }

    fn refused(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (2, ""), "{}", self.stderr);
        self.stderr
    }
}

/// Runs the program with arguments separated by blanks.
fn reproduce(arguments: &str) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_reproduce"))
        .args(arguments.split_whitespace())
        .output()
        .unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A folder that is gone when it goes out of scope.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Folder(
            std::env::temp_dir().join(format!("reticent-reproduce-{name}-{}", std::process::id())),
        )
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn one_experiment_is_written_and_summarised() {
    let folder = Folder::new("one");
    let list =
        reproduce(&format!("liu-czech --repeats 3 --seed 4 --format json --out {}", folder.path()))
            .json();
    assert_eq!(
        (list[0]["experiment"].as_str(), list[0]["skipped"].as_bool()),
        (Some("liu-czech"), Some(false))
    );
    assert!(list[0]["findings"][0]["statement"].as_str().unwrap().contains("Laplace"));
    for name in
        ["index.html", "liu-czech.csv", "liu-figure-8.svg", "liu-figure-8.png", "liu-figure-9.png"]
    {
        assert!(folder.0.join(name).exists(), "{name}");
    }
    let page = std::fs::read_to_string(folder.0.join("index.html")).unwrap();
    assert!(page.contains("reproduce liu-czech --repeats 3 --seed 4"));
    // No path of this machine is in the page.
    assert!(!page.contains(folder.path()));
    // What is refused leaves it alone, and another experiment adds to it.
    reproduce(&format!("liu-adult --out {}", folder.path())).refused();
    let again = || std::fs::read_to_string(folder.0.join("index.html")).unwrap();
    assert_eq!(again(), page);
    let text = reproduce(&format!("lecture-densities --out {}", folder.path())).done();
    assert!(text.contains("Of 5 statements of the papers"), "{text}");
    let both = again();
    assert!(both.contains("reproduce liu-czech --repeats 3 --seed 4"));
    assert!(both.contains("<code>reproduce lecture-densities --seed 1</code>"));
}

#[test]
fn the_experiments_are_listed() {
    let text = reproduce("list").done();
    let names: Vec<&str> =
        text.lines().skip(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(
        names.contains(&"liu-mildew") && names.contains(&"lecture-counting") && names.len() > 15,
        "{text}"
    );
    assert_eq!(reproduce("list --format json").json().as_array().unwrap().len(), names.len());
}

#[test]
fn wrong_requests_are_refused_by_name() {
    let unknown = reproduce("figure-9").refused();
    assert!(
        unknown.contains("`figure-9`")
            && unknown.contains("liu-mildew")
            && unknown.contains("zhao-closed-forms")
    );
    for repeats in ["0", "1", "4000000"] {
        let message = reproduce(&format!("liu-czech --repeats {repeats}")).refused();
        assert!(message.contains("`repeats`") && message.contains(repeats), "{message}");
    }
    assert!(reproduce("liu-czech --repeats -3").refused().contains("repeats"));
    assert!(reproduce("liu-czech --data /there/is/none").refused().contains("no such folder"));
    let folder = Folder::new("no-data");
    assert!(reproduce(&format!("liu-adult --out {}", folder.path())).refused().contains("--data"));
    let run = reproduce("liu-czech --repeats 2 --out /dev/null/there");
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.contains("/dev/null/there"), "{}", run.stderr);
}

#[test]
fn malformed_data_are_refused_with_file_and_line() {
    let (out, data) = (Folder::new("malformed-out"), Folder::new("malformed-data"));
    let roads = data.0.join("manhattan_roads");
    std::fs::create_dir_all(&roads).unwrap();
    std::fs::write(roads.join("m4091_nodes.csv"), "node_id,lat,lon\n1,40.7,-74\n2,north,-74\n")
        .unwrap();
    let command = format!("balle-wang-heat-maps --out {} --data {}", out.path(), data.path());
    let message = reproduce(&command).refused();
    assert!(
        message.contains("m4091_nodes.csv")
            && message.contains("line 3")
            && message.contains("latitude"),
        "{message}"
    );
}
