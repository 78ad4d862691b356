//! Files that somebody made to do harm.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};

use super::super::SourceTable;
use super::{context, folder, query, refusal, run, wait, write, write_parquet};

fn store(path: &Path) {
    let rows = 0..5;
    write_parquet(
        path,
        vec![
            ("n", Arc::new(Int64Array::from_iter_values(rows.clone())) as ArrayRef),
            (
                "x",
                Arc::new(
                    rows.clone()
                        .map(|row| (row != 2).then_some(row as f64))
                        .collect::<Float64Array>(),
                ),
            ),
            (
                "name",
                Arc::new(rows.map(|row| Some(format!("Alice{row}"))).collect::<StringArray>()),
            ),
        ],
    );
}

/// Each byte of a Parquet file in turn is the largest, a long number's beginning, or none: counts,
/// sizes, offsets, encodings. The answer is some answer or a short error without values.
#[test]
fn no_byte_of_a_parquet_file_is_believed() {
    let folder = folder(&[]);
    let path = folder.path().join("1.parquet");
    store(&path);
    let whole = std::fs::read(&path).expect("read");
    let fields = "source = '1.parquet'\ncolumns.n.type = 'integer'\ncolumns.x.type = \
        'real'\ncolumns.name.type = 'text'\n";
    let mut told = 0;
    wait(async {
        for at in 0..whole.len() {
            let mut hostile = whole.clone();
            hostile[at] = [0xff, 0x7e, 0x80, 0][at % 4];
            write(&path, &hostile);
            let message = match context(fields, &folder).await {
                Err(error) => error.to_string(),
                Ok(context) => {
                    match run(
                        &context,
                        "SELECT COUNT(*), COUNT(name), SUM(n), SUM(x) FROM t WHERE n < 4",
                    )
                    .await
                    {
                        Ok(_) => continue,
                        Err(error) => SourceTable::error_in(&error).expect("ours").to_string(),
                    }
                }
            };
            told += 1;
            assert!(message.len() < 300 && !message.contains("Alice"), "{at}: {message}");
        }
    });
    assert!(told > 100, "only {told} were noticed");
}

/// Groups in groups, 5,000 of them: the library's recursion would end the program.
#[test]
fn deep_nesting_is_refused_before_it_is_followed() {
    let nested = |groups: u16| {
        let count = groups + 2;
        let mut footer =
            vec![0x15, 0x02, 0x19, 0xfc, count as u8 | 0x80, (count >> 7) as u8 & 0x7f];
        footer.extend(b"\x48\x01r\x15\x02\x00");
        footer.extend(b"\x35\x02\x18\x01g\x15\x02\x00".repeat(usize::from(groups)));
        footer.extend(b"\x15\x04\x25\x02\x18\x01n\x00\x16\x00\x19\x0c\x00");
        let length = (footer.len() as u32).to_le_bytes();
        [b"PAR1", footer.as_slice(), &length, b"PAR1"].concat()
    };
    let fields = "source = '1.parquet'\ncolumns.n.type = 'integer'\n";
    let folder = folder(&[("1.parquet", &nested(0))]);
    assert_eq!(query(fields, &folder, "SELECT COUNT(n) FROM t"), ["0"]);
    write(&folder.path().join("1.parquet"), &nested(5000));
    assert!(
        refusal(fields, &folder)
            .ends_with("1.parquet: its columns are nested too deep in each other")
    );
}

/// Very many files, most of them without a row.
#[test]
fn thousands_of_small_files_are_one_table() {
    let folder = folder(&[]);
    for number in 0..3000 {
        let content = if number % 1000 == 7 {
            format!("n\n{number}\n")
        } else {
            ["", "n\n"][number % 2].to_owned()
        };
        write(
            &folder.path().join(format!("d/part={}/{number}.csv", number % 30)),
            content.as_bytes(),
        );
    }
    let fields = "source = 'd'\ncolumns.n.type = 'integer'\ncolumns.part.type = 'integer'\n";
    assert_eq!(query(fields, &folder, "SELECT COUNT(*), SUM(n), SUM(part) FROM t"), ["3|3021|51"]);
}

#[test]
fn a_folder_that_vanishes_is_told() {
    let folder = folder(&[]);
    store(&folder.path().join("d/who=Alice/1.parquet"));
    let fields = "source = 'd'\ncolumns.n.type = 'integer'\ncolumns.who.type = 'text'\n";
    wait(async {
        let context = context(fields, &folder).await.expect("opened");
        assert_eq!(run(&context, "SELECT COUNT(*) FROM t").await.expect("there"), ["5"]);
        std::fs::remove_dir_all(folder.path().join("d")).expect("removed");
        let error =
            run(&context, "SELECT SUM(n) FROM t WHERE who = 'Bob'").await.expect_err("gone");
        let message = SourceTable::error_in(&error).expect("ours").to_string();
        assert!(message.ends_with("d/who=*/1.parquet: entity not found"), "{message}");
    });
}
