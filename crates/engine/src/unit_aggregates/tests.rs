//! The engine's many ways through an aggregate, against plain arithmetic, bit by bit.

use super::{exact, key};
use dashu_int::IBig;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, StringArray, UInt64Array,
};
use datafusion::arrow::compute::{
    SortColumn, concat_batches, lexsort_to_indices, take_record_batch,
};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::datasource::MemTable;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::functions_aggregate::{average, count, min_max, sum};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{AggregateUDF, Expr};
use datafusion::prelude::{SessionConfig, SessionContext, col};
use reticent_noise::randomness::{RandomBits, SeededRandom};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

/// Choices of a test, the same each time.
struct Draw(SeededRandom);

impl Draw {
    fn bits(&mut self) -> u64 {
        self.0.next_u64().expect("a seeded generator does not fail")
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn real(&mut self, wild: bool) -> f64 {
        const EXTREMES: [f64; 14] = [
            0.0,
            -0.0,
            1.0,
            0.1,
            -0.1,
            5e-324,
            -5e-324,
            2.2250738585072014e-308,
            1e16,
            -1e16,
            1e300,
            -1e300,
            f64::MAX,
            f64::MIN,
        ];
        match self.below(if wild { 60 } else { 4 }) {
            0..3 => (self.below(2_000_001) as f64 - 1e6) / 100.0,
            3 => f64::from_bits(self.bits() >> 2 & !(0x700 << 52) | 0x300 << 52),
            4..40 => self.of(&EXTREMES),
            40..59 => {
                let any = f64::from_bits(self.bits());
                if any.is_finite() { any } else { f64::NAN }
            }
            _ => self.of(&[f64::INFINITY, f64::NEG_INFINITY, -f64::NAN]),
        }
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}

#[derive(Clone)]
struct Row {
    unit: i64,
    key: Option<f64>,
    real: Option<f64>,
    integer: Option<i64>,
    natural: Option<u64>,
    text: Option<String>,
    truth: Option<bool>,
    day: Option<i32>,
}

fn rows(draw: &mut Draw, count: usize, units: usize) -> Vec<Row> {
    let mut row = || {
        let wild = draw.below(3) == 0;
        let known = draw.below(8) > 0;
        Row {
            unit: draw.below(units) as i64,
            key: draw.of(&[
                None,
                Some(0.0),
                Some(-0.0),
                Some(f64::NAN),
                Some(-f64::NAN),
                Some(1.5),
            ]),
            real: known.then(|| draw.real(wild)),
            integer: known.then(|| if wild { draw.bits() as i64 } else { draw.below(100) as i64 }),
            natural: known.then(|| if wild { draw.bits() } else { draw.below(100) as u64 }),
            text: known.then(|| {
                draw.of(&["", "a", "ab", "B", "über", "a text beyond twelve bytes"]).to_owned()
            }),
            truth: known.then(|| draw.below(2) == 0),
            day: known.then(|| draw.bits() as i32),
        }
    };
    (0..count).map(|_| row()).collect()
}

fn batch(rows: &[Row]) -> RecordBatch {
    let columns: [(&str, ArrayRef); 8] = [
        ("unit", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.unit)))),
        ("key", Arc::new(rows.iter().map(|row| row.key).collect::<Float64Array>())),
        ("real", Arc::new(rows.iter().map(|row| row.real).collect::<Float64Array>())),
        ("integer", Arc::new(rows.iter().map(|row| row.integer).collect::<Int64Array>())),
        ("natural", Arc::new(rows.iter().map(|row| row.natural).collect::<UInt64Array>())),
        ("text", Arc::new(rows.iter().map(|row| row.text.clone()).collect::<StringArray>())),
        ("truth", Arc::new(rows.iter().map(|row| row.truth).collect::<BooleanArray>())),
        ("day", Arc::new(rows.iter().map(|row| row.day).collect::<Date32Array>())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .expect("columns")
}

/// A float in units of 2^-1074.
fn units(value: f64) -> IBig {
    let (field, fraction) = (value.to_bits() >> 52 & 0x7ff, value.to_bits() & ((1 << 52) - 1));
    let size = if field == 0 {
        IBig::from(fraction)
    } else {
        IBig::from(fraction | 1 << 52) << (field as usize - 1)
    };
    if value.is_sign_negative() { -size } else { size }
}

/// The nearest float to a quotient in units of 2^-1074, found by bisection; none beyond the
/// largest.
fn nearest(total: &IBig, count: u64) -> Option<f64> {
    let zero = IBig::from(0);
    if *total < zero {
        return nearest(&-total, count).map(|value| 0.0 - value);
    }
    let times = |bits: u64| units(f64::from_bits(bits)) * IBig::from(count);
    let infinity = f64::INFINITY.to_bits();
    let (mut below, mut above) = (0, infinity);
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if times(middle) <= *total { below = middle } else { above = middle }
    }
    let (twice, ends) = (total * IBig::from(2), times(below) + times(above));
    let up = twice > ends || twice == ends && below % 2 == 1;
    let found = below + u64::from(up);
    (found < infinity).then(|| f64::from_bits(found))
}

/// The results of one group, by the definitions.
fn plainly(rows: &[Row]) -> Vec<ScalarValue> {
    let reals: Vec<f64> =
        rows.iter().filter_map(|row| row.real).filter(|real| !real.is_nan()).collect();
    let reals: Vec<f64> =
        reals.into_iter().map(|real| if real == 0.0 { 0.0 } else { real }).collect();
    let finite = !reals.is_empty() && reals.iter().all(|real| real.is_finite());
    let total = || reals.iter().map(|real| units(*real)).sum::<IBig>();
    let real = |by: fn(f64, f64) -> f64| reals.iter().copied().reduce(by);
    let integers: Vec<i64> = rows.iter().filter_map(|row| row.integer).collect();
    let naturals: Vec<u64> = rows.iter().filter_map(|row| row.natural).collect();
    let texts = || rows.iter().filter_map(|row| row.text.clone());
    let is_any = !integers.is_empty();
    let of = |value: Option<i128>| value.filter(|_| is_any);
    vec![
        ScalarValue::Float64(finite.then(|| nearest(&total(), 1)).flatten()),
        ScalarValue::Float64(finite.then(|| nearest(&total(), reals.len() as u64)).flatten()),
        ScalarValue::Float64(real(f64::min)),
        ScalarValue::Float64(real(f64::max)),
        ScalarValue::Int64(Some(reals.len() as i64)),
        ScalarValue::Int64(Some(
            reals.iter().map(|real| real.to_bits()).collect::<BTreeSet<_>>().len() as i64,
        )),
        ScalarValue::Int64(
            of(Some(integers.iter().map(|&i| i128::from(i)).sum()))
                .and_then(|sum| sum.try_into().ok()),
        ),
        ScalarValue::Int64(integers.iter().min().copied()),
        ScalarValue::UInt64(
            of(Some(naturals.iter().map(|&i| i128::from(i)).sum()))
                .and_then(|sum| sum.try_into().ok()),
        ),
        ScalarValue::UInt64(naturals.iter().max().copied()),
        ScalarValue::Utf8View(texts().min()),
        ScalarValue::Utf8View(texts().max()),
        ScalarValue::Int64(Some(texts().collect::<BTreeSet<_>>().len() as i64)),
        ScalarValue::Boolean(rows.iter().filter_map(|row| row.truth).min()),
        ScalarValue::Date32(rows.iter().filter_map(|row| row.day).max()),
        ScalarValue::Int64(Some(rows.len() as i64)),
        // Of the rows whose truth is TRUE.
        ScalarValue::Float64(real_sum_where(rows)),
    ]
}

fn real_sum_where(rows: &[Row]) -> Option<f64> {
    let passing = rows.iter().filter(|row| row.truth == Some(true));
    let reals: Vec<f64> =
        passing.filter_map(|row| row.real).filter(|real| !real.is_nan()).collect();
    let finite = !reals.is_empty() && reals.iter().all(|real| real.is_finite());
    finite.then(|| nearest(&reals.iter().map(|real| units(*real)).sum(), 1)).flatten()
}

fn call(
    schema: &DFSchema,
    func: Arc<AggregateUDF>,
    of: Expr,
    distinct: bool,
    filter: Option<Expr>,
) -> Expr {
    let call =
        AggregateFunction::new_udf(func, vec![of], distinct, filter.map(Box::new), vec![], None);
    exact(call, schema).expect("offered")
}

fn calls(schema: &DFSchema) -> Vec<Expr> {
    let (sum, avg) = (sum::sum_udaf(), average::avg_udaf());
    let (min, max, count) = (min_max::min_udaf(), min_max::max_udaf(), count::count_udaf());
    let one = Expr::Literal(ScalarValue::Int64(Some(1)), None);
    let list = [
        (&sum, col("real"), false),
        (&avg, col("real"), false),
        (&min, col("real"), true),
        (&max, col("real"), false),
        (&count, col("real"), false),
        (&count, col("real"), true),
        (&sum, col("integer"), false),
        (&min, col("integer"), false),
        (&sum, col("natural"), false),
        (&max, col("natural"), false),
        (&min, col("text"), false),
        (&max, col("text"), false),
        (&count, col("text"), true),
        (&min, col("truth"), false),
        (&max, col("day"), false),
        (&count, one, false),
    ];
    let mut calls: Vec<Expr> =
        list.map(|(func, of, distinct)| call(schema, func.clone(), of, distinct, None)).into();
    calls.push(call(schema, sum, col("real"), false, Some(col("truth"))));
    calls
        .into_iter()
        .enumerate()
        .map(|(index, call)| call.alias(format!("result{index}")))
        .collect()
}

/// How the engine is to go about it.
#[derive(Debug)]
struct Way {
    partitions: usize,
    batch_size: usize,
    skips_partial: bool,
    new_streams: bool,
    memory: Option<usize>,
}

fn context(way: &Way) -> SessionContext {
    let mut config =
        SessionConfig::new().with_target_partitions(way.partitions).with_batch_size(way.batch_size);
    let options = &mut config.options_mut().execution;
    options.skip_partial_aggregation_probe_ratio_threshold =
        if way.skips_partial { 0.0 } else { 1.0 };
    options.skip_partial_aggregation_probe_rows_threshold =
        if way.skips_partial { 1 } else { usize::MAX };
    options.enable_migration_aggregate = way.new_streams;
    let mut runtime = RuntimeEnvBuilder::new();
    if let Some(bytes) = way.memory {
        runtime = runtime.with_memory_pool(Arc::new(FairSpillPool::new(bytes)));
    }
    SessionContext::new_with_config_rt(config, runtime.build_arc().expect("a runtime"))
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .expect("a runtime")
        .block_on(work)
}

type Results = BTreeMap<Vec<String>, Vec<ScalarValue>>;

/// The engine's results by group, with the bits of reals, and how often it went to disk.
fn by_engine(rows: &[Row], parts: usize, with_key: bool, way: &Way) -> (Results, usize) {
    let size = way.batch_size.max(rows.len() / 50 + 1);
    let mut partitions = vec![Vec::new(); parts];
    for (index, rows) in rows.chunks(size).enumerate() {
        partitions[index % parts].push(batch(rows));
    }
    let schema = batch(&[]).schema();
    let context = context(way);
    wait(async {
        let table = MemTable::try_new(schema, partitions).expect("a table");
        let frame = context.read_table(Arc::new(table)).expect("read");
        let mut keys = vec![col("unit")];
        if with_key {
            keys.push(key(col("key"), frame.schema()).expect("a key").alias("the_key"));
        }
        let width = keys.len();
        let calls = calls(frame.schema());
        let plan = frame
            .aggregate(keys, calls)
            .expect("planned")
            .create_physical_plan()
            .await
            .expect("planned");
        let batches = datafusion::physical_plan::collect(plan.clone(), context.task_ctx())
            .await
            .expect("computed");
        let mut results = Results::new();
        for batch in &batches {
            for row in 0..batch.num_rows() {
                let value =
                    |index| ScalarValue::try_from_array(batch.column(index), row).expect("a value");
                let group = (0..width).map(|index| of_bits(&value(index))).collect();
                let values = (width..batch.num_columns()).map(value).collect();
                assert!(results.insert(group, values).is_none(), "a group twice");
            }
        }
        (results, spills(plan.as_ref()))
    })
}

fn spills(plan: &dyn datafusion::physical_plan::ExecutionPlan) -> usize {
    let own = plan.metrics().and_then(|metrics| metrics.spill_count()).unwrap_or(0);
    own + plan.children().into_iter().map(|child| spills(child.as_ref())).sum::<usize>()
}

/// A value with all its bits.
fn of_bits(value: &ScalarValue) -> String {
    match value {
        ScalarValue::Float64(Some(real)) => format!("{:016x}", real.to_bits()),
        other => format!("{other:?}"),
    }
}

fn expected(rows: &[Row], with_key: bool) -> Results {
    let mut groups: BTreeMap<Vec<String>, Vec<Row>> = BTreeMap::new();
    for row in rows {
        let mut group = vec![of_bits(&ScalarValue::Int64(Some(row.unit)))];
        if with_key {
            let plain = |key: f64| if key.is_nan() { f64::NAN } else { key + 0.0 };
            group.push(of_bits(&ScalarValue::Float64(row.key.map(plain))));
        }
        groups.entry(group).or_default().push(row.clone());
    }
    groups.into_iter().map(|(group, rows)| (group, plainly(&rows))).collect()
}

fn assert_same(found: &Results, expected: &Results, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (group, values) in expected {
        for (index, (found, expected)) in found[group].iter().zip(values).enumerate() {
            assert_eq!(
                of_bits(found),
                of_bits(expected),
                "{what}, group {group:?}, result {index}"
            );
        }
    }
}

#[test]
fn results_are_the_exact_ones_whatever_way_the_engine_goes() {
    let mut draw = Draw(SeededRandom::new(14));
    for (count, units) in [(0, 1), (1, 1), (40, 3), (300, 40), (3_000, 7), (3_000, 900)] {
        for with_key in [false, true] {
            let mut rows = rows(&mut draw, count, units);
            let expected = expected(&rows, with_key);
            for _ in 0..6 {
                draw.shuffle(&mut rows);
                let way = Way {
                    partitions: 1 + draw.below(8),
                    batch_size: draw.of(&[1, 2, 7, 100, 8192]),
                    skips_partial: draw.below(2) == 0,
                    new_streams: draw.below(2) == 0,
                    memory: None,
                };
                let (found, _) = by_engine(&rows, 1 + draw.below(5), with_key, &way);
                assert_same(&found, &expected, &format!("{count} rows of {units} units, {way:?}"));
            }
        }
    }
}

#[test]
fn results_are_the_exact_ones_where_states_go_to_disk() {
    let mut draw = Draw(SeededRandom::new(15));
    let mut spilled = 0;
    let mut rows = rows(&mut draw, 12_000, 4_000);
    let expected = expected(&rows, false);
    for new_streams in [false, true] {
        for partitions in [1, 3] {
            draw.shuffle(&mut rows);
            let memory = Some(partitions * 1_500_000);
            let way =
                Way { partitions, batch_size: 512, skips_partial: false, new_streams, memory };
            let (found, spills) = by_engine(&rows, 2, false, &way);
            assert_same(&found, &expected, &format!("{way:?}"));
            spilled += spills;
        }
    }
    assert!(spilled > 0, "the memory was enough");
}

/// Sums that are hard to round: halves of a last digit, cancellation over the whole range, sums
/// beyond the largest float on the way.
#[test]
fn sums_and_means_are_rounded_once() {
    let (half, tiny) = (f64::from_bits((1023 - 53) << 52), 5e-324);
    let cases: &[&[f64]] = &[
        &[1.0, half],
        &[1.0, half, tiny],
        &[1.0, half, -tiny],
        &[1.0 + f64::EPSILON, half],
        &[1e300, 1.0, tiny, -1e300, -1.0],
        &[1e300, 1.0, tiny, -1e300],
        &[f64::MAX, f64::MAX, f64::MIN],
        &[f64::MAX, f64::MAX],
        &[f64::MAX, f64::MAX / 2.0_f64.powi(54)],
        &[f64::MAX, f64::MAX / 2.0_f64.powi(54), -tiny],
        &[tiny, tiny, tiny, 0.0],
        &[-tiny, 0.0],
        &[-0.0, -0.0],
        &[-tiny, tiny],
        &[2.2250738585072014e-308, -tiny, 0.0, 0.0],
        &[0.1; 10],
        &[1e16, 1.0, -1e16],
        &[f64::INFINITY, 1.0],
        &[f64::INFINITY, f64::NEG_INFINITY, f64::MAX],
        &[f64::NAN],
    ];
    let row = |unit: usize, real: f64| Row {
        unit: unit as i64,
        key: None,
        real: Some(real),
        integer: None,
        natural: None,
        text: None,
        truth: None,
        day: None,
    };
    let mut rows: Vec<Row> = Vec::new();
    for (unit, reals) in cases.iter().enumerate() {
        rows.extend(reals.iter().map(|real| row(unit, *real)));
    }
    let way = Way {
        partitions: 1,
        batch_size: 8192,
        skips_partial: false,
        new_streams: false,
        memory: None,
    };
    let (found, _) = by_engine(&rows, 1, false, &way);
    assert_same(&found, &expected(&rows, false), "hard sums");
    let sum = |unit: i64| found[&vec![of_bits(&ScalarValue::Int64(Some(unit)))]][0].clone();
    assert_eq!(sum(2), ScalarValue::Float64(Some(1.0)));
    assert_eq!(sum(4), ScalarValue::Float64(Some(tiny)));
    assert_eq!(sum(6), ScalarValue::Float64(Some(f64::MAX)));
    assert_eq!(sum(7), ScalarValue::Float64(None));
    assert_eq!(of_bits(&sum(12)), of_bits(&ScalarValue::Float64(Some(0.0))));
    assert_eq!(sum(16), ScalarValue::Float64(Some(1.0)));
}

/// One group without keys: the engine then takes accumulators of single groups.
#[test]
fn one_group_is_the_same_without_keys() {
    let mut draw = Draw(SeededRandom::new(16));
    for count in [0, 1, 500] {
        let rows = rows(&mut draw, count, 1);
        let context =
            SessionContext::new_with_config(SessionConfig::new().with_target_partitions(3));
        let table = MemTable::try_new(batch(&[]).schema(), vec![vec![batch(&rows)], vec![]])
            .expect("a table");
        let batches = wait(async {
            let frame = context.read_table(Arc::new(table)).expect("read");
            let calls = calls(frame.schema());
            frame.aggregate(vec![], calls).expect("planned").collect().await.expect("computed")
        });
        for (index, expected) in plainly(&rows).iter().enumerate() {
            let found = ScalarValue::try_from_array(batches[0].column(index), 0).expect("a value");
            assert_eq!(of_bits(&found), of_bits(expected), "{count} rows, result {index}");
        }
    }
}

#[test]
fn what_is_not_exact_is_refused_by_name() {
    let schema = DFSchema::try_from(batch(&[]).schema().as_ref().clone()).expect("a schema");
    let refused = |func: Arc<AggregateUDF>, of: Expr, distinct: bool| {
        let call = AggregateFunction::new_udf(func, vec![of], distinct, None, vec![], None);
        exact(call, &schema).expect_err("refused").to_string()
    };
    assert!(refused(sum::sum_udaf(), col("real"), true).contains("SUM(DISTINCT"));
    assert!(refused(average::avg_udaf(), col("real"), true).contains("AVG(DISTINCT"));
    assert!(refused(sum::sum_udaf(), col("day"), false).contains("SUM of Date32"));
    let median = datafusion::functions_aggregate::median::median_udaf();
    assert!(refused(median, col("real"), false).contains("MEDIAN"));
}

/// `cargo test --release -p reticent-query -- --ignored cost_beside --nocapture`: 2 million rows of
/// 100,000 units, the best of five runs each.
#[test]
#[ignore = "a measurement"]
fn cost_beside_the_engines_sum() {
    let mut draw = Draw(SeededRandom::new(17));
    let batches: Vec<RecordBatch> = (0..244)
        .map(|_| {
            let units = Int64Array::from_iter_values((0..8192).map(|_| draw.below(100_000) as i64));
            let reals = Float64Array::from_iter_values(
                (0..8192).map(|_| draw.below(10_000_000) as f64 / 100.0),
            );
            let columns: [(&str, ArrayRef); 2] =
                [("unit", Arc::new(units)), ("real", Arc::new(reals))];
            RecordBatch::try_from_iter(columns).expect("columns")
        })
        .collect();
    let schema = batches[0].schema();
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    let time = |exactly: bool, func: Arc<AggregateUDF>| {
        let run = || {
            let table = MemTable::try_new(schema.clone(), vec![batches.clone()]).expect("a table");
            let frame = context.read_table(Arc::new(table)).expect("read");
            let made = if exactly {
                call(frame.schema(), func.clone(), col("real"), false, None)
            } else {
                func.call(vec![col("real")])
            };
            let frame = frame.aggregate(vec![col("unit")], vec![made]).expect("planned");
            let start = Instant::now();
            let found = wait(frame.collect()).expect("computed");
            let took = start.elapsed().as_secs_f64();
            let whole = concat_batches(&found[0].schema(), &found).expect("one schema");
            let order = SortColumn { values: whole.column(0).clone(), options: None };
            let order = lexsort_to_indices(&[order], None).expect("sorted");
            (took, take_record_batch(&whole, &order).expect("rows"))
        };
        let runs: Vec<_> = (0..5).map(|_| run()).collect();
        assert!(!exactly || runs.iter().all(|(_, found)| *found == runs[0].1), "runs differ");
        runs.iter().map(|(took, _)| *took).fold(f64::INFINITY, f64::min)
    };
    for (name, func) in
        [("SUM", sum::sum_udaf()), ("AVG", average::avg_udaf()), ("MAX", min_max::max_udaf())]
    {
        let (engine, ours) = (time(false, func.clone()), time(true, func));
        println!("{name}: the engine {engine:.3} s, exact {ours:.3} s, ratio {:.2}", ours / engine);
    }
}
