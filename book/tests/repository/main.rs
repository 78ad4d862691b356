//! What the repository says about itself is true: its pages, its links, its architecture.
#![allow(clippy::unwrap_used, clippy::panic)]

mod architecture;
mod book;
mod files;
mod links;
mod markdown;
mod papers;
mod walks;
mod width;
