//! `cargo run -p book` builds the book of `docs/` as HTML in `target/book`.

use mdbook_driver::MDBook;
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let book = MDBook::load(docs)?;
    book.build()?;
    println!("{}", book.build_dir_for("html").join("index.html").canonicalize()?.display());
    Ok(())
}
