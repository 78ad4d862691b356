//! Standard output, reached only when there is something complete to say.

use crate::failure::Failure;
use serde::Serialize;
use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};

/// Standard output. A reader that stops listening, such as `head`, is no fault.
#[derive(Debug)]
pub struct Output {
    stream: BufWriter<StdoutLock<'static>>,
}

impl Output {
    /// Standard output, which nothing else writes to.
    pub fn new() -> Self {
        Output { stream: BufWriter::with_capacity(1 << 16, io::stdout().lock()) }
    }

    /// Writes a text as it is.
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.write(|stream| stream.write_all(text.as_bytes()))
    }

    /// Writes one object on one line.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        self.write(|stream| {
            serde_json::to_writer(&mut *stream, value)?;
            stream.write_all(b"\n")
        })
    }

    /// Writes piece by piece, and sees to it that all of it arrives.
    pub fn write(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        match write(&mut self.stream).and_then(|()| self.stream.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::while_doing("writing to standard output", &error))
            }
            _ => Ok(()),
        }
    }
}
