//! Arrow files and streams, compressed and not, whole and hostile.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use datafusion::arrow::array::{
    ArrayRef, Decimal128Array, DictionaryArray, Float64Array, Int32Array, Int64Array, StringArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Int32Type, Schema};
use datafusion::arrow::record_batch::RecordBatch;

use super::super::SourceTable;
use super::{context, folder, query, refusal, run, wait, write};

/// Every way in which the same table is written.
const WAYS: [(&str, bool, Option<CompressionType>); 6] = [
    ("file.arrow", true, None),
    ("stream.arrow", false, None),
    ("file.feather", true, Some(CompressionType::LZ4_FRAME)),
    ("stream.feather", false, Some(CompressionType::LZ4_FRAME)),
    ("file.ipc", true, Some(CompressionType::ZSTD)),
    ("stream.ipc", false, Some(CompressionType::ZSTD)),
];

pub(super) fn write_arrow(
    path: &Path,
    batches: &[RecordBatch],
    as_file: bool,
    compression: Option<CompressionType>,
) {
    write(path, b"");
    let schema = batches[0].schema();
    let options =
        IpcWriteOptions::default().try_with_compression(compression).expect("compiled in");
    let file = File::create(path).expect("a file");
    if as_file {
        let mut writer =
            FileWriter::try_new_with_options(file, &schema, options).expect("a writer");
        batches.iter().for_each(|batch| writer.write(batch).expect("written"));
        writer.finish().expect("written");
    } else {
        let mut writer =
            StreamWriter::try_new_with_options(file, &schema, options).expect("a writer");
        batches.iter().for_each(|batch| writer.write(batch).expect("written"));
        writer.finish().expect("written");
    }
}

/// Rows from `start`, with all that the format has: values, texts, a dictionary, missing values, a
/// column that nobody wants.
fn rows(start: i64, count: i64) -> RecordBatch {
    let all = || start..start + count;
    let keys = Int32Array::from_iter_values(all().map(|row| (row % 3) as i32));
    let dictionary =
        DictionaryArray::<Int32Type>::new(keys, Arc::new(StringArray::from(vec!["x", "y", "z"])));
    RecordBatch::try_from_iter(vec![
        ("unused", Arc::new(Int64Array::from_iter_values(all())) as ArrayRef),
        (
            "name",
            Arc::new(
                all()
                    .map(|row| (row % 5 > 0).then(|| format!("Alice{row}")))
                    .collect::<StringArray>(),
            ),
        ),
        ("key", Arc::new(dictionary)),
        (
            "n",
            Arc::new(all().map(|row| (row % 7 > 0).then_some(row as i32)).collect::<Int32Array>()),
        ),
        ("x", Arc::new(all().map(|row| Some(row as f64 / 4.0)).collect::<Float64Array>())),
    ])
    .expect("a batch")
}

const COLUMNS: &str = "columns.name.type = 'text'\ncolumns.key.type = 'text'\ncolumns.n.type = \
    'integer'\ncolumns.x.type = 'real'\n";

#[test]
fn every_way_of_writing_gives_the_same_table() {
    let folder = folder(&[]);
    let batches: Vec<RecordBatch> = (0..7).map(|batch| rows(batch * 3000, 3000)).collect();
    let mut sizes = Vec::new();
    for (name, as_file, compression) in WAYS {
        let path = folder.path().join(name);
        write_arrow(&path, &batches, as_file, compression);
        sizes.push(path.metadata().expect("written").len());
    }
    assert!(sizes[2..].iter().all(|size| *size < sizes[0] * 4 / 5), "compressed: {sizes:?}");
    for sql in [
        "SELECT COUNT(*) FROM t",
        "SELECT COUNT(*), COUNT(name), COUNT(n), SUM(n), SUM(x), MAX(name) FROM t",
        "SELECT key, COUNT(*), SUM(n) FROM t GROUP BY key ORDER BY key",
        "SELECT name, n FROM t WHERE x > 5240 ORDER BY x LIMIT 5",
        "SELECT COUNT(*) FROM t WHERE name IS NULL AND n < 1000",
    ] {
        let answers =
            WAYS.map(|(name, ..)| query(&format!("source = '{name}'\n{COLUMNS}"), &folder, sql));
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{sql}: {answers:?}");
    }
    let whole = query(
        &format!("source = 'file.arrow'\n{COLUMNS}"),
        &folder,
        "SELECT COUNT(*), SUM(x) FROM t",
    );
    let sum = (0..21_000).sum::<i64>() as f64 / 4.0;
    assert_eq!(whole, [format!("21000|{sum:?}")]);
    let all = query(
        &format!("source = '.'\n{COLUMNS}"),
        &folder,
        "SELECT COUNT(*), COUNT(DISTINCT x) FROM t",
    );
    assert_eq!(all, ["126000|21000"]);
}

/// Each batch is read with the dictionary that is before it, also by the thread that begins in the
/// middle.
#[test]
fn dictionaries_of_a_stream_may_change() {
    let folder = folder(&[]);
    let batch = |names: [&str; 2]| {
        let dictionary: DictionaryArray<Int32Type> = names.into_iter().cycle().take(10).collect();
        RecordBatch::try_from_iter(vec![("key", Arc::new(dictionary) as ArrayRef)])
            .expect("a batch")
    };
    let batches = [["a", "b"], ["c", "a"], ["d", "e"], ["b", "d"]].map(batch);
    write_arrow(&folder.path().join("1.arrow"), &batches, false, Some(CompressionType::ZSTD));
    let fields = "source = '1.arrow'\ncolumns.key.type = 'text'\n";
    let counts = query(fields, &folder, "SELECT key, COUNT(*) FROM t GROUP BY key ORDER BY key");
    assert_eq!(counts, ["a|10", "b|10", "c|5", "d|10", "e|5"]);
}

#[test]
fn texts_that_are_not_utf_8_are_repaired() {
    let folder = folder(&[]);
    let names = StringArray::from(vec!["Zoë", "Ann", "12"]);
    let batch =
        RecordBatch::try_from_iter(vec![("name", Arc::new(names) as ArrayRef)]).expect("a batch");
    for (file, as_file, compression) in [WAYS[0], WAYS[1]] {
        let path = folder.path().join(file);
        write_arrow(&path, std::slice::from_ref(&batch), as_file, compression);
        let mut bytes = std::fs::read(&path).expect("read");
        let at = bytes.windows(2).position(|two| two == "ë".as_bytes()).expect("the name");
        bytes[at] = b'\xff';
        write(&path, &bytes);
    }
    let text = "source = '.'\ncolumns.name.type = 'text'\n";
    let names = query(text, &folder, "SELECT name FROM t ORDER BY name");
    assert_eq!(names, ["12", "12", "Ann", "Ann", "Zo\u{fffd}\u{fffd}", "Zo\u{fffd}\u{fffd}"]);
    let number = "source = '.'\ncolumns.name.type = 'integer'\n";
    assert_eq!(query(number, &folder, "SELECT COUNT(*), SUM(name) FROM t"), ["6|24"]);
}

/// Some writers do not check what a schema says of missing values. The reader did: one row of NULL
/// was an error of the whole table.
#[test]
fn a_column_declared_without_missing_values_may_have_some() {
    let folder = folder(&[]);
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let batch =
        RecordBatch::try_from_iter_with_nullable(vec![("n", numbers, true)]).expect("a batch");
    let path = folder.path().join("1.arrow");
    write_arrow(&path, std::slice::from_ref(&batch), false, None);
    let mut bytes = std::fs::read(&path).expect("read");
    // The schema's message, with the one byte that says so taken from a schema that says otherwise.
    let strict = RecordBatch::new_empty(Arc::new(Schema::new(vec![Field::new(
        "n",
        DataType::Int64,
        false,
    )])));
    let other = folder.path().join("strict");
    write_arrow(&other, &[strict], false, None);
    let other = std::fs::read(&other).expect("read");
    let end =
        |bytes: &[u8]| 8 + u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]) as usize;
    bytes.splice(..end(&bytes), other[..end(&other)].iter().copied());
    write(&path, &bytes);
    let fields = "source = '1.arrow'\ncolumns.n.type = 'integer'\n";
    assert_eq!(query(fields, &folder, "SELECT n FROM t"), ["1", "-", "3"]);
}

#[test]
fn decimals_beyond_their_digits_and_dictionaries_with_null_are_values() {
    let folder = folder(&[]);
    let money =
        Decimal128Array::from(vec![i128::MAX, 12_345, i128::MIN]).with_precision_and_scale(5, 2);
    let keys = Int32Array::from(vec![Some(0), Some(1), None]);
    let values = StringArray::from(vec![None, Some("7")]);
    let batch = RecordBatch::try_from_iter(vec![
        ("money", Arc::new(money.expect("decimals")) as ArrayRef),
        ("key", Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(values)))),
    ]);
    write_arrow(&folder.path().join("1.arrow"), &[batch.expect("a batch")], true, None);
    let fields =
        "source = '1.arrow'\ncolumns.money.type = 'integer'\ncolumns.key.type = 'integer'\n";
    assert_eq!(query(fields, &folder, "SELECT money, key FROM t"), ["-|-", "123|7", "-|-"]);
}

/// Eight bytes anywhere in a file become a huge or a negative number: lengths, offsets, numbers of
/// rows, values. The answer is some answer or a short error without values. A library that believed
/// the length would end the whole program: 2^45 bytes are nowhere.
#[test]
fn no_number_in_a_file_is_believed() {
    let folder = folder(&[]);
    let batches = [rows(0, 9), rows(9, 9)];
    let mut told = 0;
    wait(async {
        for (name, as_file, compression) in WAYS {
            let path = folder.path().join(name);
            write_arrow(&path, &batches, as_file, compression);
            let whole = std::fs::read(&path).expect("read");
            let fields = format!("source = '{name}'\n{COLUMNS}");
            // Messages and what is in them begin at multiples of eight.
            for at in (0..whole.len() - 8).step_by(8) {
                let number: i64 = [1 << 45, i64::MAX, -1, 1 << 31][at / 8 % 4];
                let mut hostile = whole.clone();
                hostile[at..at + 8].copy_from_slice(&number.to_le_bytes());
                write(&path, &hostile);
                let message = match context(&fields, &folder).await {
                    Err(error) => error.to_string(),
                    Ok(context) => {
                        match run(&context, "SELECT COUNT(*), COUNT(name), SUM(n), MIN(key) FROM t")
                            .await
                        {
                            Ok(_) => continue,
                            Err(error) => SourceTable::error_in(&error).expect("ours").to_string(),
                        }
                    }
                };
                told += 1;
                assert!(message.len() < 300 && !message.contains("Alice"), "{message}");
            }
            std::fs::remove_file(&path).expect("removed");
        }
    });
    assert!(told > 300, "only {told} were noticed");
}

#[test]
fn what_is_cut_is_told_without_values() {
    let folder = folder(&[]);
    for (name, as_file, compression) in WAYS {
        let path = folder.path().join(name);
        write_arrow(&path, &[rows(0, 30)], as_file, compression);
        let whole = std::fs::read(&path).expect("read");
        let fields = format!("source = '{name}'\n{COLUMNS}");
        // Of a stream only the mark at its end can be missed.
        let last = whole.len() - if as_file { 1 } else { 9 };
        for length in (0..last).step_by(37).chain([last]) {
            write(&path, &whole[..length]);
            // Between two messages a stream may end.
            if !as_file && wait(context(&fields, &folder)).is_ok() {
                continue;
            }
            let message = refusal(&fields, &folder);
            assert!(
                message.ends_with("this is not a complete Arrow file"),
                "{name} {length}: {message}"
            );
        }
        std::fs::remove_file(&path).expect("removed");
    }
}

#[test]
fn a_file_that_changes_while_in_use_is_told() {
    let folder = folder(&[]);
    let path = folder.path().join("1.arrow");
    write_arrow(&path, &[rows(0, 10)], true, None);
    wait(async {
        let context =
            context(&format!("source = '1.arrow'\n{COLUMNS}"), &folder).await.expect("opened");
        write_arrow(&path, &[rows(0, 10), rows(10, 10)], true, None);
        let error = run(&context, "SELECT COUNT(n) FROM t").await.expect_err("changed");
        let message = SourceTable::error_in(&error).expect("ours").to_string();
        assert!(message.ends_with("1.arrow: this file changed while it was in use"), "{message}");
    });
}
