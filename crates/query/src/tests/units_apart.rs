//! What a unit's rows become does not depend on anybody else's.

use super::noiseless::{Draw, exact_answer, wait};
use datafusion::arrow::array::AsArray;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use reticent_policy::Policy;
use std::fmt::Write;

/// The first figure of the exact answer to a query over a table `t` of units `id` and reals `x`.
fn exact_figure(rows: &[(usize, String)], sql: &str) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let mut text = String::from("id,x\n");
    rows.iter().for_each(|(id, x)| writeln!(text, "{id},{x}").expect("written"));
    std::fs::write(folder.path().join("t.csv"), text).expect("written");
    let policy = "[budget]\nepsilon = 10\nquery_epsilon = 1\n[tables.t]\nsource = 't.csv'\nunit = \
        'id'\n\
                  max_groups = 1\nmax_rows = 1\n[tables.t.columns]\nid = { type = 'integer' }\nx = \
                  { type = 'real' }\n";
    let policy = Policy::parse(policy, &folder.path().join("policy.toml")).expect("a policy");
    let (_, answer) = wait(exact_answer(&policy, sql, Draw::new(1).key())).expect(sql);
    let figure = cast(answer.table.column(0), &DataType::Float64).expect("a number");
    figure.as_primitive::<Float64Type>().value(0)
}

/// The figures with no unit more, and with one of so many rows at each of some positions.
fn figures(rows: &[(usize, String)], more: &[(usize, usize, &str)], sql: &str) -> Vec<f64> {
    let mut figures = vec![exact_figure(rows, sql)];
    for &(at, count, x) in more {
        let mut with = rows.to_vec();
        with.splice(at..at, (0..count).map(|_| (usize::MAX >> 1, x.to_owned())));
        figures.push(exact_figure(&with, sql));
    }
    figures
}

/// Of each unit 1e16, 1 and -1e16, in three batches: added in this order they are 0, in another 1.
#[test]
fn sums_by_unit_do_not_depend_on_other_units() {
    let rows: Vec<(usize, String)> = ["1e16", "1", "-1e16"]
        .iter()
        .flat_map(|x| (0..8192).map(|id| (id, (*x).to_owned())))
        .collect();
    let more = [
        (8192, 8192, "7"),
        (8192, 1, "7"),
        (0, 4096, "7"),
        (0, 8192, "7"),
        (16384, 8192, "7"),
        (9000, 20000, "7"),
    ];
    for (statistic, true_figure) in
        [("SUM(x)", 8192.0), ("AVG(x) * 3", 8192.0), ("SUM(x) * 0.1 + MAX(x) * 0", 0.0)]
    {
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT id, {statistic} AS s FROM t GROUP BY id) u WHERE s > 0.5"
        );
        let figures = figures(&rows, &more, &sql);
        assert_eq!(figures[0], true_figure, "{statistic}");
        for figure in &figures {
            assert!((figure - figures[0]).abs() <= 1.0, "{statistic}: {figures:?}");
        }
    }
}

/// Ordinary amounts of money, whose sums show in the last digit in which order they were added.
#[test]
fn sums_of_money_by_unit_do_not_depend_on_other_units() {
    let mut draw = Draw::new(2);
    let amount = |draw: &mut Draw| format!("{}.{:02}", draw.below(1000), draw.below(100));
    let rows: Vec<(usize, String)> =
        (0..150_000).map(|_| (draw.below(20_000), amount(&mut draw))).collect();
    let sql = "SELECT COUNT(*) FROM (SELECT id, SUM(x) AS s FROM t GROUP BY id) u \
               WHERE CHARACTER_LENGTH(CAST(s AS TEXT)) > 9";
    let figures = figures(&rows, &[(0, 1, "0.1"), (0, 5000, "0.1"), (70_000, 30_000, "0.01")], sql);
    assert!((1.0..20_000.0).contains(&figures[0]), "{figures:?}");
    for figure in &figures {
        assert!((figure - figures[0]).abs() <= 1.0, "{figures:?}");
    }
}

/// -0.0 and 0.0 are equal: the greatest of them is one and the same, in whatever order they are
/// read.
#[test]
fn greatest_values_by_unit_do_not_depend_on_other_units() {
    let signs = ["-0.0", "0.0", "NaN"];
    let rows: Vec<(usize, String)> = (0..3)
        .flat_map(|turn| (0..8192).map(move |id| (id, signs[(id + turn) % 3].to_owned())))
        .collect();
    let more = [(8192, 8192, "7"), (0, 4097, "7")];
    for statistic in ["MAX(x)", "MIN(x)", "SUM(x)", "AVG(x)"] {
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT id, {statistic} AS s FROM t GROUP BY id) u WHERE CAST(s \
             AS TEXT) LIKE '-%'"
        );
        let figures = figures(&rows, &more, &sql);
        assert!(figures.iter().all(|figure| *figure == 0.0), "{statistic}: {figures:?}");
    }
    let distinct =
        "SELECT COUNT(*) FROM (SELECT id, COUNT(DISTINCT x) AS n FROM t GROUP BY id) u WHERE n = 1";
    assert_eq!(figures(&rows, &[], distinct), [8192.0]);
    let keys = "SELECT COUNT(*) FROM (SELECT id, x AS k, COUNT(*) AS n FROM t GROUP BY id, x) u \
        WHERE n = 2";
    assert_eq!(figures(&rows, &[], keys), [8192.0]);
}
