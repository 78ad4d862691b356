//! The functions that the grammar calls, each with the arguments that it takes: all that are
//! offered, and no others.
//!
//! A letter is an argument: `i` an integer, `f` a real, `s` a text, `b` a truth value, `d` a date,
//! `m` a moment, `t` a date or a moment, `*` of the type that the result has; literals are `w` (a
//! whole number), `c` (a count, from 1), `l` (a text), `p` (a pattern), `g` (flags of a pattern),
//! `q` (a part of a date), `u` (a part that dates are cut to).

/// A function, the letter of its result, and its lists of arguments.
pub(super) type Signature = (&'static str, char, &'static [&'static str]);

pub(super) const FUNCTIONS: &[Signature] = &[
    ("coalesce", '*', &["**", "***"]),
    ("nvl", '*', &["**"]),
    ("nullif", '*', &["**"]),
    ("greatest", '*', &["**", "***"]),
    ("least", '*', &["**", "***"]),
    ("abs", 'i', &["i"]),
    ("abs", 'f', &["f"]),
    ("ceil", 'f', &["f", "i"]),
    ("floor", 'f', &["f", "i"]),
    ("round", 'f', &["f", "fw"]),
    ("round", 'i', &["iw", "iw", "i"]),
    ("trunc", 'f', &["f", "fw", "iw"]),
    ("signum", 'f', &["f", "i"]),
    ("iszero", 'b', &["f", "i"]),
    ("ln", 'f', &["f", "i"]),
    ("log10", 'f', &["f", "i"]),
    ("log2", 'f', &["f", "i"]),
    ("exp", 'f', &["f", "i"]),
    ("sin", 'f', &["f"]),
    ("cos", 'f', &["f"]),
    ("tan", 'f', &["f"]),
    ("asin", 'f', &["f"]),
    ("acos", 'f', &["f"]),
    ("atan", 'f', &["f"]),
    ("cbrt", 'f', &["f"]),
    ("degrees", 'f', &["f"]),
    ("radians", 'f', &["f"]),
    ("sqrt", 'f', &["f", "i"]),
    ("log", 'f', &["f", "ff", "if", "i"]),
    ("atan2", 'f', &["ff", "if"]),
    ("power", 'f', &["ff", "fi"]),
    ("power", 'i', &["ii", "iw"]),
    ("lower", 's', &["s"]),
    ("upper", 's', &["s"]),
    ("initcap", 's', &["s"]),
    ("reverse", 's', &["s"]),
    ("btrim", 's', &["s", "sl", "ss"]),
    ("ltrim", 's', &["s", "sl", "ss"]),
    ("rtrim", 's', &["s", "sl", "ss"]),
    ("left", 's', &["sw"]),
    ("right", 's', &["sw"]),
    ("substr", 's', &["sw", "swc"]),
    ("split_part", 's', &["slc"]),
    ("concat", 's', &["ss", "sss", "si", "sf", "sd", "sm", "sb"]),
    ("concat_ws", 's', &["lss", "sss", "lsi", "lsd"]),
    ("character_length", 'i', &["s"]),
    ("octet_length", 'i', &["s"]),
    ("ascii", 'i', &["s"]),
    ("strpos", 'i', &["ss", "sl"]),
    ("starts_with", 'b', &["sl", "ss"]),
    ("ends_with", 'b', &["sl", "ss"]),
    ("contains", 'b', &["sl", "ss"]),
    ("regexp_like", 'b', &["sp", "spg"]),
    ("date_part", 'i', &["qt"]),
    ("date_trunc", 'm', &["ut"]),
];

#[test]
fn every_function_that_is_offered_is_generated_and_no_other() {
    let mut generated: Vec<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).collect();
    let mut offered: Vec<&str> = reticent_engine::functions().collect();
    generated.sort_unstable();
    generated.dedup();
    offered.sort_unstable();
    assert_eq!(generated, offered);
}
