//! Runs the program.

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};

/// What a run left behind.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// The answer of a run that must have succeeded.
    pub fn done(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.stdout
    }

    /// The answer of a run with `--format json`: one object on one line.
    pub fn json(self) -> Value {
        let text = self.done();
        assert_eq!(text.matches('\n').count(), 1, "one line: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The message of a run that must have been refused.
    pub fn refused(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (2, ""), "{}", self.stderr);
        self.stderr
    }
}

/// Runs the program with arguments separated by blanks, and nothing on standard input.
pub fn reticent(arguments: &str) -> Run {
    run(&arguments.split_whitespace().collect::<Vec<_>>(), b"")
}

/// The same with something on standard input.
pub fn reticent_with_input(arguments: &str, input: &[u8]) -> Run {
    run(&arguments.split_whitespace().collect::<Vec<_>>(), input)
}

/// Runs the program.
pub fn run(arguments: &[&str], input: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses its arguments does not read its input: a broken pipe is its right.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    Run {
        code: output
            .status
            .code()
            .unwrap_or_else(|| panic!("{arguments:?} was killed: {output:?}")),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A file that is gone when it goes out of scope.
pub struct TemporaryFile(pub std::path::PathBuf);

impl TemporaryFile {
    /// A file of its own for each test.
    pub fn new(name: &str, content: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("reticent-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        TemporaryFile(path)
    }

    /// Its path.
    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
