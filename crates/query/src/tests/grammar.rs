//! Random queries: every aggregate, expressions, keys, joins, sub-queries, and what may follow the
//! aggregates.

use super::noiseless::Draw;

/// How a column of an answer is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Exactly: a group's key.
    Key,
    /// A number.
    Number,
    /// A variance.
    Variance,
    /// The root of a variance: its square is compared.
    Deviation,
    /// A quantile of integers, between two of them.
    Rank,
    /// A quantile of reals: the plain engine rounds how far between two values it lies.
    Quantile,
}

/// A query, and what is known of its answer.
#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) sql: String,
    pub(super) kinds: Vec<Kind>,
    /// Whether the order of its rows is part of the answer.
    pub(super) ordered: bool,
    /// Whether its values may lie between the points of a grid.
    pub(super) inexact: bool,
}

/// What a FROM clause offers.
struct Source {
    with: String,
    from: String,
    integers: Vec<&'static str>,
    reals: Vec<&'static str>,
    texts: Vec<&'static str>,
    booleans: Vec<&'static str>,
    days: Vec<&'static str>,
    keys: Vec<&'static str>,
    /// Numbers that are never NULL.
    certain: Vec<&'static str>,
    unit: Option<&'static str>,
}

pub(super) struct Grammar<'a> {
    draw: &'a mut Draw,
    inexact: bool,
    /// Whether a sub-query may stand here: it may in WHERE.
    in_where: bool,
}

const COLUMNS: &str = "city, kind, flag, day, moment, age, score, amount, height";

impl<'a> Grammar<'a> {
    pub(super) fn new(draw: &'a mut Draw) -> Self {
        Grammar { draw, inexact: false, in_where: true }
    }

    fn plain(from: &str, unit: Option<&'static str>) -> Source {
        Source {
            with: String::new(),
            from: from.to_owned(),
            integers: vec!["p.age", "p.score"],
            reals: vec!["p.amount", "p.height"],
            texts: vec!["p.city", "p.kind"],
            booleans: vec!["p.flag"],
            days: vec!["p.day", "p.moment"],
            keys: vec![
                "p.city",
                "p.city",
                "p.kind",
                "p.flag",
                "p.score",
                "p.age / 25",
                "p.age % 3",
                "UPPER(p.kind)",
                "FLOOR(p.amount / 16)",
                "DATE_PART('month', p.day)",
                "EXTRACT(DOW FROM p.moment)",
                "DATE_TRUNC('month', p.moment)",
                "CASE WHEN p.age < 30 THEN 'young' WHEN p.age < 60 THEN 'middle' ELSE 'old' END",
                "CASE p.city WHEN 'Ulm' THEN 1 WHEN 'Brno' THEN 2 END",
                "p.amount > 0",
                "p.day",
                "COALESCE(p.city, 'none')",
                "p.city || '-' || p.kind",
                "SUBSTR(p.kind, 1, 1)",
            ],
            certain: vec!["p.age", "p.height", "p.age * 2 - 7"],
            unit,
        }
    }

    fn source(&mut self) -> Source {
        let unit = Some("p.person");
        match self.draw.below(12) {
            0 | 1 => Self::plain("records p", None),
            2 => {
                let join = self.draw.of(&["JOIN", "LEFT JOIN"]);
                let from = self.draw.of(&["people", "records"]);
                let mut source = Self::plain(
                    &format!("{from} p {join} regions r ON p.city = r.city"),
                    (from == "people").then_some("p.person"),
                );
                source.integers.push("r.weight");
                source.texts.push("r.region");
                source.keys.extend(["r.region", "r.region", "r.weight"]);
                source
            }
            3 => {
                let join = self.draw.of(&["JOIN", "LEFT JOIN"]);
                let mut source =
                    Self::plain(&format!("people p {join} visits v ON p.person = v.person"), unit);
                source.reals.push("v.cost");
                source.texts.push("v.ward");
                source.keys.extend(["v.ward", "v.ward"]);
                source
            }
            4 => {
                let condition = self.condition(&Self::plain("", None), 1).replace("p.", "");
                let mut source = Self::plain("w p", unit);
                source.with = format!("WITH w AS (SELECT * FROM people WHERE {condition}) ");
                source
            }
            5 => {
                let condition = self.condition(&Self::plain("", None), 1).replace("p.", "");
                Self::plain(&format!("(SELECT {COLUMNS} FROM people WHERE {condition}) p"), None)
            }
            6 => {
                let (one, other) = (
                    self.condition(&Self::plain("", None), 0),
                    self.condition(&Self::plain("", None), 0),
                );
                let from = format!(
                    "(SELECT * FROM people WHERE {} UNION ALL SELECT * FROM people WHERE {}) p",
                    one.replace("p.", ""),
                    other.replace("p.", "")
                );
                Self::plain(&from, unit)
            }
            7 | 8 => self.by_unit(),
            _ => Self::plain("people p", unit),
        }
    }

    /// A sub-query with one row for each person, or for each person and city.
    fn by_unit(&mut self) -> Source {
        let condition = self.condition(&Self::plain("", None), 0).replace("p.", "");
        let (city, key) = if self.draw.once_in(2) {
            ("city", "person, city")
        } else {
            ("MAX(city) AS city", "person")
        };
        let from = format!(
            "(SELECT person, {city}, COUNT(*) AS n, SUM(score) AS s, MAX(age) AS age, MIN(amount) \
             AS amount, \
             AVG(height) AS height FROM people WHERE {condition} GROUP BY {key}) p"
        );
        Source {
            with: String::new(),
            from,
            integers: vec!["p.age", "LEAST(p.n, 20)", "GREATEST(LEAST(p.s, 40), -40)"],
            reals: vec!["p.amount"],
            texts: vec!["p.city"],
            booleans: vec!["(p.n > 2)"],
            days: vec!["DATE '2024-02-01'"],
            keys: vec![
                "p.city",
                "p.age / 30",
                "LEAST(p.n, 5)",
                "p.n",
                "CASE WHEN p.n > 2 THEN 'many' ELSE 'few' END",
            ],
            certain: vec!["p.age", "LEAST(p.n, 20)"],
            unit: Some("p.person"),
        }
    }

    fn number(&mut self, source: &Source, depth: usize) -> String {
        let plain = |grammar: &mut Self| {
            let list = if grammar.draw.once_in(2) { &source.integers } else { &source.reals };
            grammar.draw.of(list).to_owned()
        };
        if depth == 0 {
            return plain(self);
        }
        let a = self.number(source, depth - 1);
        match self.draw.below(20) {
            0 => format!("({a} + {})", plain(self)),
            1 => format!("({a} - {})", plain(self)),
            2 => format!("({a} * {})", plain(self)),
            3 => format!("({a} * {})", self.draw.of(&[2, 3, -1])),
            4 => format!("({a} / 4)"),
            5 => format!("({} % 7)", self.draw.of(&source.integers)),
            6 => {
                format!("CASE WHEN {} THEN {a} ELSE {} END", self.condition(source, 0), plain(self))
            }
            7 => format!("CASE WHEN {} THEN {a} END", self.condition(source, 0)),
            8 => format!("COALESCE({a}, 3)"),
            9 => format!("ABS({a})"),
            10 => format!("GREATEST({a}, -3)"),
            11 => format!("LEAST({a}, 5)"),
            12 => format!("NULLIF({a}, 1)"),
            13 => format!("ROUND({a})"),
            14 => format!("FLOOR({a})"),
            15 => format!("CAST({a} AS DOUBLE)"),
            16 => format!("CAST({a} AS BIGINT)"),
            17 => {
                self.inexact = true;
                format!("SQRT(ABS({a}))")
            }
            18 => {
                self.inexact = true;
                format!("GREATEST(LEAST({a} / NULLIF({}, 0), 50), -50)", plain(self))
            }
            _ => format!("(-{a})"),
        }
    }

    fn condition(&mut self, source: &Source, depth: usize) -> String {
        if depth > 0 {
            let (a, b) = (self.condition(source, depth - 1), self.condition(source, depth - 1));
            return match self.draw.below(4) {
                0 => format!("({a} AND {b})"),
                1 => format!("({a} OR {b})"),
                2 => format!("NOT ({a})"),
                _ => a,
            };
        }
        let text = self.draw.of(&source.texts);
        let integer = self.draw.of(&source.integers);
        match self.draw.below(12) {
            0 => format!("{integer} > {}", self.draw.below(40) as i64 - 10),
            1 => {
                format!("{} <= {}.5", self.draw.of(&source.reals), self.draw.below(60) as i64 - 20)
            }
            2 => format!("{integer} BETWEEN -2 AND {}", self.draw.below(90)),
            3 => format!("{text} IN ('Ulm', 'Brno', 'a', 'east')"),
            4 => format!("{text} LIKE '{}'", self.draw.of(&["%a%", "U%", "_", "%", "b,%"])),
            5 => format!("{text} IS NOT NULL"),
            6 => format!("{text} ~ '{}'", self.draw.of(&["^[A-M]", "a+", "."])),
            7 => self.draw.of(&source.booleans).to_owned(),
            8 => format!("{} >= DATE '2024-01-15'", self.draw.of(&source.days)),
            9 if self.in_where => {
                format!("{text} IN (SELECT r0.city FROM regions r0 WHERE r0.weight > 2)")
            }
            10 => format!("CHARACTER_LENGTH({text}) > 2"),
            _ => format!("{text} <> 'Ulm'"),
        }
    }

    fn aggregate(&mut self, source: &Source) -> (String, Kind) {
        let filter = match self.draw.below(6) {
            0 => format!(" FILTER (WHERE {})", self.condition(source, 0)),
            _ => String::new(),
        };
        let depth = self.draw.below(3);
        match self.draw.below(14) {
            0 | 1 => (format!("COUNT(*){filter}"), Kind::Number),
            2 => {
                let list = [
                    source.texts.clone(),
                    source.integers.clone(),
                    source.booleans.clone(),
                    source.days.clone(),
                ];
                let list = self.draw.of(&list);
                (format!("COUNT({}){filter}", self.draw.of(&list)), Kind::Number)
            }
            3 => match source.unit {
                Some(unit) => (format!("COUNT(DISTINCT {unit})"), Kind::Number),
                None => ("COUNT(*)".to_owned(), Kind::Number),
            },
            4..=6 => (format!("SUM({}){filter}", self.number(source, depth)), Kind::Number),
            7 | 8 => (format!("AVG({}){filter}", self.number(source, depth)), Kind::Number),
            9 => {
                let name = self.draw.of(&["VAR", "VAR_POP"]);
                (format!("{name}({}){filter}", self.number(source, depth.min(1))), Kind::Variance)
            }
            10 => {
                let name = self.draw.of(&["STDDEV", "STDDEV_POP"]);
                (format!("{name}({}){filter}", self.number(source, depth.min(1))), Kind::Deviation)
            }
            11 => (format!("MEDIAN({}){filter}", self.draw.of(&source.integers)), Kind::Rank),
            12 => (format!("MEDIAN({}){filter}", self.draw.of(&source.reals)), Kind::Quantile),
            _ => {
                let point = self.draw.of(&["0", "0.25", "0.9", "1"]);
                let of = self.draw.of(&source.reals);
                (format!("PERCENTILE_CONT({point}) WITHIN GROUP (ORDER BY {of})"), Kind::Quantile)
            }
        }
    }

    /// Arithmetic on aggregates of numbers that are never NULL, so that both engines have the same
    /// figures to compute with.
    fn derived(&mut self, source: &Source) -> String {
        let of = self.draw.of(&source.certain);
        match self.draw.below(6) {
            0 => format!("SUM({of}) / NULLIF(COUNT(*), 0)"),
            1 => "COUNT(*) * 2 + 1".to_owned(),
            2 => format!("CASE WHEN COUNT(*) > 3 THEN SUM({of}) ELSE -1 END"),
            3 => format!("ABS(SUM({of}) - 3 * COUNT(*))"),
            4 => "CAST(COUNT(*) AS DOUBLE) / 7".to_owned(),
            _ => format!("SUM({of}) + AVG({of})"),
        }
    }

    /// A query that is offered and whose answer does not depend on limits that do not bind.
    pub(super) fn query(&mut self) -> Query {
        self.inexact = false;
        let source = self.source();
        let mut keys: Vec<&str> =
            (0..self.draw.of(&[0, 1, 1, 1, 2, 2, 3])).map(|_| self.draw.of(&source.keys)).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut columns: Vec<String> =
            keys.iter().enumerate().map(|(index, key)| format!("{key} AS k{index}")).collect();
        let mut kinds = vec![Kind::Key; keys.len()];
        self.in_where = false;
        for index in 0..self.draw.below(3) + 1 {
            // An answer without groups over no rows at all has no average to compute with.
            let (text, kind) = if keys.is_empty() || !self.draw.once_in(5) {
                self.aggregate(&source)
            } else {
                (self.derived(&source), Kind::Number)
            };
            columns.push(format!("{text} AS a{index}"));
            kinds.push(kind);
        }
        self.in_where = true;
        let mut sql = format!("{}SELECT {} FROM {}", source.with, columns.join(", "), source.from);
        if self.draw.once_in(2) {
            let depth = self.draw.below(3);
            sql += &format!(" WHERE {}", self.condition(&source, depth));
        }
        let mut ordered = false;
        if !keys.is_empty() {
            let by_number = self.draw.once_in(3);
            let by: Vec<String> = keys
                .iter()
                .enumerate()
                .map(|(n, key)| if by_number { format!("{}", n + 1) } else { (*key).to_owned() })
                .collect();
            // Public groups without rows are shown by the one engine only.
            sql += &format!(" GROUP BY {} HAVING COUNT(*) > 0", by.join(", "));
            if self.draw.once_in(3) {
                let of = self.draw.of(&source.certain);
                sql += &format!(" AND SUM({of}) > {}", self.draw.below(80));
            }
            if self.draw.once_in(3) {
                ordered = true;
                let indices: Vec<String> =
                    (1..=keys.len()).map(|index| index.to_string()).collect();
                sql += &format!(" ORDER BY COUNT(*) DESC, {}", indices.join(", "));
                if self.draw.once_in(2) {
                    sql += &format!(" LIMIT {}", self.draw.below(5) + 1);
                }
            } else if self.draw.once_in(8)
                && source.with.is_empty()
                && columns[keys.len()].starts_with("COUNT(")
            {
                sql = format!("SELECT COUNT(*) AS groups, SUM(q.a0) AS total FROM ({sql}) q");
                kinds = vec![Kind::Number, Kind::Number];
            }
        }
        Query { sql, kinds, ordered, inexact: self.inexact }
    }
}
