//! A folder with a policy and its data, in which questions are asked: never the source tree.

use crate::program::{Run, run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A policy with everything that belongs to it, gone when it goes out of scope.
pub struct Folder(PathBuf);

impl Folder {
    /// An empty folder of its own for each test.
    pub fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("reticent-query-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// The factory of `examples`.
    pub fn factory(name: &str) -> Self {
        let folder = Folder::new(name);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/factory");
        for file in ["policy.toml", "workers.csv"] {
            std::fs::copy(source.join(file), folder.file(file)).unwrap();
        }
        folder
    }

    /// The factory with another budget.
    pub fn factory_with_budget(name: &str, budget: &str) -> Self {
        let folder = Folder::factory(name);
        folder.set_budget(budget);
        folder
    }

    /// Replaces the budget in the policy, as its owner would with an editor. The first query may
    /// make the ledger.
    pub fn set_budget(&self, budget: &str) {
        let policy = self.read("policy.toml");
        let (before, rest) = policy.split_once("[budget]").unwrap();
        let (_, after) = rest.split_once("[tables").unwrap();
        self.write(
            "policy.toml",
            format!("{before}[budget]\ncreate_ledger = true\n{budget}\n[tables{after}").as_bytes(),
        );
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    pub fn write(&self, name: &str, content: &[u8]) {
        std::fs::write(self.file(name), content).unwrap();
    }

    pub fn ledger(&self) -> PathBuf {
        self.file("policy.ledger")
    }

    /// Words, and after them `--policy` with this folder's.
    fn arguments<'a>(&self, words: &[&'a str], policy: &'a str) -> Vec<&'a str> {
        words.iter().copied().chain(["--policy", policy]).collect()
    }

    /// Runs a command under the policy of the folder.
    pub fn run(&self, words: &[&str]) -> Run {
        let policy = self.file("policy.toml");
        run(&self.arguments(words, policy.to_str().unwrap()), b"")
    }

    /// The same, without waiting for its end.
    pub fn spawn(&self, words: &[&str]) -> std::process::Child {
        let policy = self.file("policy.toml");
        Command::new(env!("CARGO_BIN_EXE_reticent"))
            .args(self.arguments(words, policy.to_str().unwrap()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The answer to a query as JSON.
    pub fn ask(&self, sql: &str) -> Value {
        self.run(&["query", "--format", "json", sql]).json()
    }

    /// A new answer to a query as JSON.
    pub fn ask_afresh(&self, sql: &str) -> Value {
        self.run(&["query", "--fresh", "--format", "json", sql]).json()
    }

    /// What the ledger says of the budget.
    pub fn budget(&self) -> Value {
        self.run(&["budget", "--format", "json"]).json()
    }

    /// What is spent in the currency of the budget.
    pub fn spent(&self) -> f64 {
        self.budget()["spent"]["cost"].as_f64().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The numbers of a JSON list.
pub fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// A column of an answer.
pub fn column(answer: &Value, index: usize) -> Vec<Value> {
    answer["rows"].as_array().unwrap().iter().map(|row| row[index].clone()).collect()
}
