//! Generated expressions: everything that docs/sql.md offers, with odd arguments.

use super::cell::WORDS;
use super::functions::FUNCTIONS;
use super::tree::{Sort, Tree};
use crate::tests::noiseless::Draw;
use reticent_policy::ColumnType::{self, Boolean, Date, Integer, Real, Text, Timestamp};

/// The columns that an expression can name.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) columns: Vec<(String, ColumnType)>,
    /// Whether sub-queries over public tables may stand in conditions.
    pub(super) subqueries: bool,
}

const TYPES: [ColumnType; 6] = [Integer, Real, Text, Boolean, Date, Timestamp];

/// A text as SQL has it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn literal(of: ColumnType, draw: &mut Draw) -> String {
    let list: &[&str] = match of {
        Integer => &[
            "0",
            "1",
            "-1",
            "2",
            "7",
            "-3",
            "100",
            "127",
            "-128",
            "32767",
            "2147483647",
            "9223372036854775807",
            "-9223372036854775807",
            "9007199254740993",
            "NULL",
            "CAST(NULL AS BIGINT)",
        ],
        Real => &[
            "0.0",
            "-0.0",
            "0.1",
            "0.3",
            "-2.5",
            "1e308",
            "-1e308",
            "5e-324",
            "1e-300",
            "1e16",
            "3.5e38",
            "CAST('NaN' AS DOUBLE)",
            "CAST('inf' AS DOUBLE)",
            "CAST(NULL AS DOUBLE)",
        ],
        Boolean => &["TRUE", "FALSE", "CAST(NULL AS BOOLEAN)"],
        Date => &[
            "DATE '2024-02-29'",
            "DATE '1970-01-01'",
            "DATE '0001-01-01'",
            "DATE '9999-12-31'",
            "DATE '1677-09-21'",
            "CAST(NULL AS DATE)",
        ],
        Timestamp => &[
            "TIMESTAMP '2024-02-29T12:00:00'",
            "TIMESTAMP '1970-01-01T00:00:00'",
            "TIMESTAMP '2262-04-11T23:47:16'",
            "TIMESTAMP '1677-09-21T00:12:44'",
            "CAST(NULL AS TIMESTAMP)",
        ],
        Text => {
            return if draw.once_in(12) {
                "CAST(NULL AS TEXT)".to_owned()
            } else {
                quoted(draw.of(WORDS))
            };
        }
    };
    draw.of(list).to_owned()
}

/// A pattern of `LIKE`, perhaps very long.
fn like_pattern(draw: &mut Draw) -> Vec<Tree> {
    let odd = [
        "%",
        "_",
        "%a%",
        "a%",
        "%b",
        "_b",
        "%\\%",
        "\\_",
        "",
        "%a%a%a%b",
        "K%",
        "\u{212A}",
        "%\u{17F}%",
        "é",
        "%é",
        "ss",
        "ß",
        "Σ%",
        "ı",
        "%\u{301}",
        "a_c",
        "%_%_%",
        "\\",
        "u%",
        "ULM",
        "ulm",
        "k\u{f6}ln",
        "%\u{0}%",
        "x\ny",
    ];
    let piece = quoted(draw.of(&odd));
    let piece = piece[1..piece.len() - 1].to_owned();
    let times = if draw.once_in(8) { draw.of(&[50, 3000, 50_000]) } else { 1 };
    let end = draw.of(&["", "", "%", "_", "é"]);
    vec![Tree::leaf(Sort::Repeated(times), piece), Tree::leaf(Sort::Clause, end)]
}

/// A regular expression, perhaps very long, as a literal.
fn regular_expression(draw: &mut Draw) -> Tree {
    let odd = [
        "a",
        "^a",
        "b$",
        "^$",
        "",
        ".",
        "a+",
        "^(a+)+$",
        "[a-z]+",
        "[^a]",
        "\\bulm\\b",
        "\\p{L}",
        "\\d+",
        "(?i)É",
        "(?i)k",
        "(?s)x.y",
        "(a|b)*c",
        "\u{212A}",
        "\u{17F}",
        "^.{1,3}$",
        "\\x{FEFF}",
        "(?u:\\w)",
        "[[:alpha:]]",
        "a{100}",
        "(?x) a b",
        "(?m)^y",
        "\\\\",
        "^[A-M]",
        ".*",
        "^.*$",
        "U.m",
        "^Ulm$",
        "^Ulm",
        "Ulm|Brno",
        "^(Ulm|Brno)$",
    ];
    let long = draw.once_in(20);
    let piece = if long { draw.of(&["a", "a|", "é?", "(?:ab)?"]) } else { draw.of(&odd) };
    let times = if long { draw.of(&[40, 900, 20_000]) } else { 1 };
    Tree::new(Sort::Clause, "'{}'", vec![Tree::leaf(Sort::Repeated(times), piece)])
}

const WHOLE: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "-2",
    "-3",
    "-5",
    "-18",
    "-19",
    "-20",
    "20",
    "400",
    "-400",
    "9223372036854775807",
    "-9223372036854775807",
];

const TARGETS: [(ColumnType, &[&str]); 6] = [
    (
        Integer,
        &[
            "TINYINT",
            "SMALLINT",
            "INT",
            "BIGINT",
            "TINYINT UNSIGNED",
            "SMALLINT UNSIGNED",
            "INT UNSIGNED",
            "BIGINT UNSIGNED",
        ],
    ),
    (Real, &["REAL", "FLOAT", "DOUBLE", "DOUBLE", "DOUBLE PRECISION"]),
    (Text, &["TEXT", "VARCHAR", "STRING"]),
    (Boolean, &["BOOLEAN"]),
    (Date, &["DATE"]),
    (Timestamp, &["TIMESTAMP", "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(9)"]),
];

/// A generated expression.
pub(super) fn expression(scope: &Scope, of: ColumnType, depth: usize, draw: &mut Draw) -> Tree {
    let column = |draw: &mut Draw| {
        let fitting: Vec<&String> =
            scope.columns.iter().filter(|(_, kind)| *kind == of).map(|(name, _)| name).collect();
        if fitting.is_empty() || draw.once_in(6) {
            literal(of, draw)
        } else {
            draw.of(&fitting).clone()
        }
    };
    if depth == 0 {
        return Tree::leaf(Sort::Value(of), column(draw));
    }
    let mut part = |of: ColumnType, draw: &mut Draw| {
        let depth = if draw.once_in(3) { 0 } else { depth - 1 };
        expression(scope, of, depth, draw)
    };
    match draw.below(12) {
        0 => {
            let template = draw
                .of(&["CASE WHEN {} THEN {} ELSE {} END", "CASE WHEN NOT {} THEN {} ELSE {} END"]);
            Tree::value(of, template, vec![part(Boolean, draw), part(of, draw), part(of, draw)])
        }
        1 if draw.once_in(2) => {
            let by = draw.of(&TYPES);
            let parts = vec![part(by, draw), part(by, draw), part(of, draw), part(of, draw)];
            Tree::value(of, "CASE {} WHEN {} THEN {} ELSE {} END", parts)
        }
        1 => Tree::value(of, "CASE WHEN {} THEN {} END", vec![part(Boolean, draw), part(of, draw)]),
        2 => cast(of, &mut part, draw),
        3..8 => call(of, &mut part, draw),
        _ => operation(scope, of, &mut part, draw),
    }
}

type Part<'a> = dyn FnMut(ColumnType, &mut Draw) -> Tree + 'a;

fn cast(of: ColumnType, part: &mut Part<'_>, draw: &mut Draw) -> Tree {
    let from: &[ColumnType] = match of {
        Integer => &[Integer, Integer, Real, Text, Boolean],
        Real => &[Real, Real, Integer, Text, Boolean],
        Text => &TYPES,
        Boolean => &[Integer, Text, Boolean, Real],
        Date => &[Date, Timestamp, Text, Integer],
        Timestamp => &[Timestamp, Date, Text, Integer],
    };
    let to =
        TARGETS.iter().find(|(kind, _)| *kind == of).map_or("TEXT", |(_, names)| draw.of(names));
    let name = draw.of(&["CAST", "CAST", "TRY_CAST"]);
    Tree::value(of, &format!("{name}({{}} AS {to})"), vec![part(draw.of(from), draw)])
}

fn letter(of: ColumnType) -> char {
    match of {
        Integer => 'i',
        Real => 'f',
        Text => 's',
        Boolean => 'b',
        Date => 'd',
        Timestamp => 'm',
    }
}

/// A call of a function that is offered.
fn call(of: ColumnType, part: &mut Part<'_>, draw: &mut Draw) -> Tree {
    let fitting: Vec<_> = FUNCTIONS
        .iter()
        .filter(|(name, result, _)| {
            *result == letter(of)
                || *result == '*' && !(of == Boolean && ["greatest", "least"].contains(name))
        })
        .collect();
    let (name, _, lists) = draw.of(&fitting);
    let list = draw.of(lists);
    let (mut template, mut parts) = (Vec::new(), Vec::new());
    for kind in list.chars() {
        let argument = match kind {
            'w' => draw.of(WHOLE).to_owned(),
            'c' => draw.of(&["1", "2", "3", "40", "9223372036854775807"]).to_owned(),
            'l' => quoted(draw.of(WORDS)),
            'p' => {
                template.push("{}".to_owned());
                parts.push(regular_expression(draw));
                continue;
            }
            'g' => quoted(draw.of(&["i", "s", "m", "im"])),
            'q' => quoted(draw.of(&[
                "year",
                "quarter",
                "month",
                "week",
                "day",
                "doy",
                "dow",
                "isodow",
                "hour",
                "minute",
                "second",
                "millisecond",
                "microsecond",
                "epoch",
                "nanosecond",
                "isoyear",
            ])),
            'u' => quoted(draw.of(&[
                "year",
                "quarter",
                "month",
                "week",
                "day",
                "hour",
                "minute",
                "second",
                "millisecond",
                "microsecond",
            ])),
            other => {
                let kind = match other {
                    'i' => Integer,
                    'f' => Real,
                    's' => Text,
                    'b' => Boolean,
                    'd' => Date,
                    'm' => Timestamp,
                    't' => draw.of(&[Date, Timestamp]),
                    _ => of,
                };
                parts.push(part(kind, draw));
                template.push("{}".to_owned());
                continue;
            }
        };
        template.push("{}".to_owned());
        parts.push(Tree::leaf(Sort::Clause, argument));
    }
    let template = match (*name, list.len()) {
        ("date_part", _) if draw.once_in(4) => {
            let unit = draw.of(&["YEAR", "MONTH", "DAY", "DOW", "HOUR", "EPOCH"]);
            parts.remove(0);
            format!("EXTRACT({unit} FROM {{}})")
        }
        ("character_length", _) if draw.once_in(2) => "LENGTH({})".to_owned(),
        ("btrim", 1) if draw.once_in(2) => "TRIM({})".to_owned(),
        _ => format!("{}({})", name.to_uppercase(), template.join(", ")),
    };
    Tree::value(of, &template, parts)
}

/// Operators: arithmetic, conditions, texts one after the other.
fn operation(scope: &Scope, of: ColumnType, part: &mut Part<'_>, draw: &mut Draw) -> Tree {
    match of {
        Integer | Real => {
            let other = if of == Real && draw.once_in(3) { Integer } else { of };
            match draw.below(6) {
                0 => Tree::value(of, "(- {})", vec![part(of, draw)]),
                _ => {
                    let sign = draw.of(&["+", "-", "*", "/", "%"]);
                    Tree::value(
                        of,
                        &format!("({{}} {sign} {{}})"),
                        vec![part(of, draw), part(other, draw)],
                    )
                }
            }
        }
        Text => {
            let other = draw.of(&[Text, Text, Integer, Real]);
            Tree::value(of, "({} || {})", vec![part(Text, draw), part(other, draw)])
        }
        Boolean => condition(scope, part, draw),
        Date | Timestamp => part(of, draw),
    }
}

fn condition(scope: &Scope, part: &mut Part<'_>, draw: &mut Draw) -> Tree {
    let of = draw.of(&TYPES);
    let not = draw.of(&["", "", "NOT "]);
    match draw.below(16) {
        0 => Tree::value(Boolean, "({} AND {})", vec![part(Boolean, draw), part(Boolean, draw)]),
        1 => Tree::value(Boolean, "({} OR {})", vec![part(Boolean, draw), part(Boolean, draw)]),
        2 => Tree::value(Boolean, "(NOT {})", vec![part(Boolean, draw)]),
        3 => {
            let test =
                draw.of(&["TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN", "NOT UNKNOWN"]);
            Tree::value(Boolean, &format!("({{}} IS {test})"), vec![part(Boolean, draw)])
        }
        4 => Tree::value(Boolean, &format!("({{}} IS {not}NULL)"), vec![part(of, draw)]),
        5 => {
            let parts = vec![part(of, draw), part(of, draw), part(of, draw)];
            Tree::value(Boolean, &format!("({{}} {not}BETWEEN {{}} AND {{}})"), parts)
        }
        6 => {
            let parts = vec![part(of, draw), part(of, draw), part(of, draw)];
            Tree::value(Boolean, &format!("({{}} {not}IN ({{}}, {{}}))"), parts)
        }
        7 => {
            let list: Vec<String> = (0..draw.of(&[1, 3, 40])).map(|_| literal(of, draw)).collect();
            Tree::value(
                Boolean,
                &format!("({{}} {not}IN ({}))", list.join(", ")),
                vec![part(of, draw)],
            )
        }
        8 | 9 => {
            let name = draw.of(&["LIKE", "ILIKE", "ILIKE"]);
            let mut parts = vec![part(Text, draw)];
            parts.extend(like_pattern(draw));
            Tree::value(Boolean, &format!("({{}} {not}{name} '{{}}{{}}')"), parts)
        }
        10 => {
            let operator = draw.of(&["~", "~*", "!~", "!~*"]);
            let parts = vec![part(Text, draw), regular_expression(draw)];
            Tree::value(Boolean, &format!("({{}} {operator} {{}})"), parts)
        }
        11 if scope.subqueries => subquery(part, draw),
        _ => {
            let sign = draw.of(&[
                "=",
                "<>",
                "<",
                "<=",
                ">",
                ">=",
                "IS DISTINCT FROM",
                "IS NOT DISTINCT FROM",
            ]);
            let other = match of {
                Integer if draw.once_in(4) => Real,
                Date if draw.once_in(4) => Timestamp,
                _ => of,
            };
            Tree::value(
                Boolean,
                &format!("({{}} {sign} {{}})"),
                vec![part(of, draw), part(other, draw)],
            )
        }
    }
}

/// A condition with a sub-query over the public table.
fn subquery(part: &mut Part<'_>, draw: &mut Draw) -> Tree {
    let (of, column) = draw.of(&[
        (Text, "city"),
        (Text, "region"),
        (Integer, "weight"),
        (Real, "z"),
        (Date, "day"),
        (Text, "city"),
    ]);
    let filter = draw.of(&[
        "",
        " WHERE u.weight > 1",
        " WHERE u.city IS NOT NULL",
        " WHERE u.z = 0",
        " WHERE FALSE",
    ]);
    let not = draw.of(&["", "NOT "]);
    match draw.below(5) {
        0 => Tree::leaf(
            Sort::Value(Boolean),
            format!("({not}EXISTS (SELECT 1 FROM public u{filter}))"),
        ),
        1 => {
            let scalar = format!("({{}} > (SELECT MAX(u.{column}) FROM public u{filter}))");
            Tree::value(Boolean, &scalar, vec![part(of, draw)])
        }
        _ => {
            let within = format!("({{}} {not}IN (SELECT u.{column} FROM public u{filter}))");
            Tree::value(Boolean, &within, vec![part(of, draw)])
        }
    }
}
