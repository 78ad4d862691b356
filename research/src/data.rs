//! Data: two small tables that are part of the project, and files that the user has.

use crate::ReproductionError;
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

const MILDEW: &str = include_str!("../data/mildew.csv");
const CZECH: &str = include_str!("../data/czech.csv");

/// Files are cut off beyond this, so that a hostile archive cannot fill the memory.
const MOST_BYTES: u64 = 1 << 30;

/// 70 offspring of a barley powdery mildew by six loci of two alleles: 64 cells, 22 of them not
/// empty (Christiansen and Giese 1991).
pub(crate) fn mildew() -> Result<Vec<f64>, ReproductionError> {
    counts(MILDEW, "mildew.csv")
}

/// 1841 men of a Czech car factory by six risk factors: 64 cells, one of them empty (Edwards and
/// Havranek 1985).
pub(crate) fn czech() -> Result<Vec<f64>, ReproductionError> {
    counts(CZECH, "czech.csv")
}

fn counts(text: &str, name: &str) -> Result<Vec<f64>, ReproductionError> {
    let lines =
        Lines { path: PathBuf::from(name), reader: csv::Reader::from_reader(text.as_bytes()) };
    let mut counts = Vec::new();
    lines.each(&["count"], |cells| {
        counts.push(count(cells[0])?);
        Ok(())
    })?;
    Ok(counts)
}

/// A count: a whole number from 0 to a billion.
pub(crate) fn count(cell: &str) -> Result<f64, String> {
    match cell.parse::<u32>() {
        Ok(count) if count <= 1_000_000_000 => Ok(f64::from(count)),
        _ => Err(format!("`{cell}` is no count")),
    }
}

/// The lines of a CSV file with headings.
pub(crate) struct Lines<R> {
    path: PathBuf,
    reader: csv::Reader<R>,
}

/// Opens a CSV file, unpacking it if its name ends in `.gz`.
pub(crate) fn open(path: &Path) -> Result<Lines<Box<dyn Read>>, ReproductionError> {
    let file =
        File::open(path).map_err(|source| ReproductionError::Read { path: path.into(), source })?;
    let packed = path.extension().is_some_and(|ending| ending == "gz");
    let stream: Box<dyn Read> =
        if packed { Box::new(GzDecoder::new(file)) } else { Box::new(file) };
    Ok(Lines {
        path: path.into(),
        reader: csv::Reader::from_reader(Box::new(stream.take(MOST_BYTES))),
    })
}

/// The headings and all cells of a table that was written here.
pub(crate) fn rows(path: &Path) -> Result<(Vec<String>, Vec<Vec<String>>), ReproductionError> {
    let Lines { path, mut reader } = open(path)?;
    let malformed = |error: csv::Error| ReproductionError::Malformed {
        path: path.clone(),
        problem: error.to_string(),
    };
    let cells = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
    let headings = cells(reader.headers().map_err(malformed)?);
    let rows = reader.records().map(|record| record.map(|record| cells(&record)));
    Ok((headings, rows.collect::<Result<_, _>>().map_err(malformed)?))
}

impl<R: Read> Lines<R> {
    /// Gives the cells of the named columns of each line to `take`, whose complaint becomes an
    /// error with the file and the line.
    pub(crate) fn each(
        mut self,
        columns: &[&str],
        mut take: impl FnMut(&[&str]) -> Result<(), String>,
    ) -> Result<(), ReproductionError> {
        let path = self.path;
        let malformed =
            |problem: String| ReproductionError::Malformed { path: path.clone(), problem };
        let headings = self.reader.headers().map_err(|error| malformed(error.to_string()))?.clone();
        let mut indices = Vec::new();
        for column in columns {
            let index = headings.iter().position(|heading| heading == *column);
            indices.push(index.ok_or_else(|| malformed(format!("there is no column `{column}`")))?);
        }
        let mut lines = 0;
        for record in self.reader.records() {
            let record = record.map_err(|error| malformed(error.to_string()))?;
            lines += 1;
            // The reader refuses lines of another length than the headings, so that every index is
            // there.
            let cells: Vec<&str> =
                indices.iter().map(|index| record.get(*index).unwrap_or_default()).collect();
            take(&cells).map_err(|problem| malformed(format!("line {}: {problem}", lines + 1)))?;
        }
        if lines == 0 {
            return Err(malformed("there are no lines below the headings".into()));
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A folder that is removed with its content.
    pub(crate) struct Folder(pub(crate) PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    impl Folder {
        /// The path of a folder of its own for each call: tests of one process run at once, and
        /// each removes its own.
        pub(crate) fn new(name: &str) -> Self {
            static MADE: AtomicU32 = AtomicU32::new(0);
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let name = format!("reticent-{name}-{}-{number}", std::process::id());
            Folder(std::env::temp_dir().join(name))
        }

        /// Writes a file, packed if its name ends in `.gz`.
        pub(crate) fn file(&self, name: &str, text: &str) {
            let path = self.0.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            let mut file = std::fs::File::create(&path).expect("made");
            if name.ends_with(".gz") {
                let mut packed = GzEncoder::new(file, Compression::fast());
                packed.write_all(text.as_bytes()).expect("written");
                packed.finish().expect("written");
            } else {
                file.write_all(text.as_bytes()).expect("written");
            }
        }
    }

    #[test]
    fn the_tables_are_those_of_the_paper() {
        let (mildew, czech) = (mildew().expect("carried"), czech().expect("carried"));
        assert_eq!((mildew.len(), mildew.iter().sum::<f64>()), (64, 70.0));
        assert_eq!(mildew.iter().filter(|count| **count > 0.0).count(), 22);
        assert_eq!((czech.len(), czech.iter().sum::<f64>()), (64, 1841.0));
        assert_eq!(czech.iter().filter(|count| **count == 0.0).count(), 1);
    }

    #[test]
    fn malformed_files_are_refused_with_their_line() {
        let read = |text: &str| counts(text, "t.csv").map_err(|error| error.to_string());
        assert_eq!(read("a,count\n1,2\n"), Ok(vec![2.0]));
        for (text, part) in [
            ("a,b\n1,2\n", "no column `count`"),
            ("a,count\n1,2\n1,-3\n", "line 3: `-3` is no count"),
            ("a,count\n1,nan\n", "`nan` is no count"),
            ("a,count\n1,2,3\n", "not as expected"),
            ("a,count\n", "no lines"),
            ("", "no column"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(part) && error.contains("t.csv"), "{error}");
        }
        let missing = open(Path::new("there/is/none.csv")).err().expect("no file").to_string();
        assert!(missing.contains("there/is/none.csv"), "{missing}");
        let packed =
            std::env::temp_dir().join(format!("reticent-not-packed-{}.gz", std::process::id()));
        std::fs::write(&packed, "count\n1\n").expect("written");
        let refused = open(&packed).expect("opened").each(&["count"], |_| Ok(()));
        std::fs::remove_file(&packed).expect("removed");
        assert!(matches!(refused, Err(ReproductionError::Malformed { .. })));
    }
}
