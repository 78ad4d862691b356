//! Parquet files whose values are as far out as their types allow.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Date32Array, Date64Array, Decimal128Array, Decimal256Array, DictionaryArray,
    Float16Array, Float32Array, Float64Array, Int8Array, Int64Array, StringArray,
    TimestampNanosecondArray, TimestampSecondArray, UInt8Array, UInt64Array,
};
use datafusion::arrow::datatypes::{Int8Type, i256};
use datafusion::parquet::basic::{ConvertedType, Type as PhysicalType};
use datafusion::parquet::data_type::{ByteArray, ByteArrayType, Int96, Int96Type};
use datafusion::parquet::file::writer::SerializedFileWriter;
use datafusion::parquet::schema::types::Type;

use super::{TempDir, folder, query, write, write_parquet};

/// A file of one column that may be missing, with these values; written without Arrow.
fn write_raw<T: datafusion::parquet::data_type::DataType>(
    folder: &TempDir,
    of: Type,
    values: &[T::T],
) {
    let root = Type::group_type_builder("schema")
        .with_fields(vec![Arc::new(of)])
        .build()
        .expect("a schema");
    let file = std::fs::File::create(folder.path().join("raw.parquet")).expect("a file");
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(root), Default::default()).expect("a writer");
    let mut group = writer.next_row_group().expect("a group");
    let mut column = group.next_column().expect("a column").expect("one");
    column.typed::<T>().write_batch(values, Some(&vec![1; values.len()]), None).expect("written");
    column.close().expect("written");
    group.close().expect("written");
    writer.close().expect("written");
}

fn read_raw(folder: &TempDir, kind: &str) -> Vec<String> {
    query(
        &format!("source = 'raw.parquet'\ncolumns.v.type = '{kind}'\n"),
        folder,
        "SELECT v FROM t",
    )
}

/// The library's reader stops at such a text. It is a value of its row like any other.
#[test]
fn a_text_that_is_not_utf_8_is_repaired() {
    let folder = folder(&[]);
    let path = folder.path().join("1.parquet");
    let rare: DictionaryArray<Int8Type> = ["Ann", "Zoë", "Zoë"].into_iter().collect();
    let names = StringArray::from(vec!["Ann", "Zoë", "Zoë"]);
    write_parquet(&path, vec![("name", Arc::new(names) as ArrayRef), ("rare", Arc::new(rare))]);
    let mut bytes = std::fs::read(&path).expect("read");
    while let Some(at) = bytes.windows(2).position(|two| two == "ë".as_bytes()) {
        bytes[at] = 0xff;
    }
    write(&path, &bytes);
    let fields = "source = '1.parquet'\ncolumns.name.type = 'text'\ncolumns.rare.type = 'text'\n";
    let wrong = "Zo\u{fffd}\u{fffd}|Zo\u{fffd}\u{fffd}";
    let rows = query(fields, &folder, "SELECT rare, name FROM t ORDER BY rare");
    assert_eq!(rows, ["Ann|Ann", wrong, wrong]);
}

/// With 8-bit keys, more than 127 distinct values in one batch were an error: the 128th person's.
#[test]
fn distinct_values_may_outnumber_the_keys_of_a_dictionary() {
    let folder = folder(&[]);
    for part in 0..3_i64 {
        let numbers = Int64Array::from_iter_values(part * 100..part * 100 + 100);
        let names: StringArray =
            numbers.iter().map(|number| number.map(|number| format!("n{number}"))).collect();
        let keys = || Int8Array::from_iter_values(0..100);
        write_parquet(
            &folder.path().join(format!("d/{part}.parquet")),
            vec![
                ("n", Arc::new(DictionaryArray::new(keys(), Arc::new(numbers))) as ArrayRef),
                ("name", Arc::new(DictionaryArray::new(keys(), Arc::new(names)))),
            ],
        );
    }
    // One file whose groups of rows have 300 values together: two per group, one batch for all.
    let wide = |row: i64| format!("n{row}");
    let all: DictionaryArray<datafusion::arrow::datatypes::Int16Type> =
        (0..300).map(wide).collect::<Vec<_>>().iter().map(String::as_str).collect();
    let path = folder.path().join("d/3.parquet");
    write_parquet(
        &path,
        vec![
            ("n", Arc::new(Int64Array::from_iter_values(0..300)) as ArrayRef),
            ("name", Arc::new(all)),
        ],
    );
    let fields = "source = 'd'\ncolumns.n.type = 'integer'\ncolumns.name.type = 'text'\n";
    let sql = "SELECT COUNT(*), COUNT(DISTINCT n), COUNT(DISTINCT name), SUM(n) FROM t";
    assert_eq!(query(fields, &folder, sql), ["600|300|300|89700"]);
}

#[test]
fn extremes_of_every_type_are_values_or_null() {
    let folder = folder(&[]);
    let numbers: [(&str, ArrayRef, &str); 10] = [
        ("a", Arc::new(UInt8Array::from(vec![0, 255])), "0|255"),
        ("b", Arc::new(Int8Array::from(vec![-128, 127])), "-128|127"),
        ("c", Arc::new(UInt64Array::from(vec![0, u64::MAX])), "0|-"),
        (
            "d",
            Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX])),
            "-9223372036854775808|9223372036854775807",
        ),
        ("e", Arc::new(Float64Array::from(vec![f64::NAN, f64::MAX])), "-|-"),
        ("f", Arc::new(Float32Array::from(vec![f32::NEG_INFINITY, -0.0])), "-|0"),
        ("g", Arc::new(Float16Array::from_iter_values([Default::default(); 2])), "0|0"),
        ("h", Arc::new(Decimal128Array::from(vec![i128::MIN, -1])), "-|0"),
        ("i", Arc::new(Decimal256Array::from(vec![i256::MIN, i256::MAX])), "-|-"),
        (
            "j",
            Arc::new(StringArray::from(vec!["-9223372036854775808", "x"])),
            "-9223372036854775808|-",
        ),
    ];
    let columns = numbers.iter().map(|(name, column, _)| (*name, Arc::clone(column))).collect();
    write_parquet(&folder.path().join("1.parquet"), columns);
    let mut fields = "source = '1.parquet'\n".to_owned();
    for (name, ..) in &numbers {
        fields += &format!("columns.{name}.type = 'integer'\n");
    }
    for (name, _, expected) in numbers {
        let values = query(&fields, &folder, &format!("SELECT {name} FROM t")).join("|");
        assert_eq!(values, expected, "{name}");
    }
    let moments: [(&str, ArrayRef); 4] = [
        ("a", Arc::new(Date32Array::from(vec![i32::MIN, i32::MAX]))),
        ("b", Arc::new(Date64Array::from(vec![i64::MIN, i64::MAX]))),
        ("c", Arc::new(TimestampSecondArray::from(vec![i64::MIN, i64::MAX]))),
        (
            "d",
            Arc::new(
                TimestampNanosecondArray::from(vec![i64::MIN, i64::MAX])
                    .with_timezone("Asia/Tokyo"),
            ),
        ),
    ];
    write_parquet(&folder.path().join("2.parquet"), moments.to_vec());
    for kind in ["date", "timestamp"] {
        let column = |name: &str| format!("columns.{name}.type = '{kind}'\n");
        let fields = format!(
            "source = '2.parquet'\n{}{}{}{}",
            column("a"),
            column("b"),
            column("c"),
            column("d")
        );
        assert_eq!(
            query(&fields, &folder, "SELECT COUNT(*), COUNT(c), COUNT(d) FROM t"),
            ["2|0|2"]
        );
    }
}

/// Zeros of both signs are one group, and one value in every comparison.
#[test]
fn there_is_one_zero() {
    let folder = folder(&[("1.csv", b"x\n-0.0\n0\n-1e-400\n")]);
    let zeros: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN]));
    write_parquet(&folder.path().join("2.parquet"), vec![("x", zeros)]);
    for (file, count) in [("1.csv", "0.0|3"), ("2.parquet", "0.0|2")] {
        let fields = format!("source = '{file}'\ncolumns.x.type = 'real'\n");
        let sql = "SELECT CAST(x AS TEXT), COUNT(*) FROM t WHERE x IS NOT NULL GROUP BY x";
        assert_eq!(query(&fields, &folder, sql), [count]);
    }
}

/// The library asserts that decimals have a byte at least and 16 at most.
#[test]
fn decimals_of_any_length_are_numbers_or_null() {
    let folder = folder(&[]);
    let of = Type::primitive_type_builder("v", PhysicalType::BYTE_ARRAY)
        .with_converted_type(ConvertedType::DECIMAL)
        .with_precision(10)
        .with_scale(2)
        .build()
        .expect("a type");
    let mut long = vec![0xff; 40];
    let (nothing, small, minus_one) = (vec![], vec![0x30, 0x39], long.clone());
    long[0] = 0;
    let wide = [vec![0x80], vec![0; 31]].concat();
    let beyond = [vec![0, 0x80], vec![0; 31]].concat();
    let values = [nothing, small, minus_one, long, wide, beyond].map(ByteArray::from);
    write_raw::<ByteArrayType>(&folder, of, &values);
    assert_eq!(read_raw(&folder, "integer"), ["-", "123", "0", "-", "-", "-"]);
    let reals = read_raw(&folder, "real");
    assert_eq!((reals[1].as_str(), reals[2].as_str(), reals[5].as_str()), ("123.45", "-0.01", "-"));
    assert!(reals[4].starts_with("-5.78960446186581e74"), "{reals:?}");
}

#[test]
fn moments_of_96_bits_reach_the_year_9999() {
    let folder = folder(&[]);
    let of = Type::primitive_type_builder("v", PhysicalType::INT96).build().expect("a type");
    let moment = |day: u32, nanos: u64| {
        let mut value = Int96::new();
        value.set_data(nanos as u32, (nanos >> 32) as u32, day);
        value
    };
    let values = [moment(2_440_588, 1_500), moment(5_373_484, 0), moment(u32::MAX, u64::MAX)];
    write_raw::<Int96Type>(&folder, of, &values);
    let moments = read_raw(&folder, "timestamp");
    assert_eq!(moments[..2], ["1970-01-01T00:00:00.000001", "9999-12-31T00:00:00"]);
    assert_eq!(moments.len(), 3);
}
