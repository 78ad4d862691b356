//! The normal distribution and its inverses against MPFR: the truth is always inside, and close.

#![allow(clippy::unwrap_used, clippy::panic)]

mod random;

use random::Random;
use reticent_numerics::Bounds;
use reticent_numerics::normal::{
    erf, erfc, erfcx, ln_normal_cdf, ln_normal_sf, mills_ratio, normal_cdf, normal_density,
    normal_sf,
};
use reticent_numerics::normal_quantile::{
    normal_isf, normal_isf_from_ln, normal_quantile, normal_quantile_from_ln,
};
use rug::Float;
use rug::float::Constant;

const PRECISION: u32 = 200;

fn big(value: f64) -> Float {
    Float::with_val(PRECISION, value)
}

fn pi() -> Float {
    Float::with_val(PRECISION, Constant::Pi)
}

/// `exp(±x²/2)`.
fn gauss(x: f64, sign: i32) -> Float {
    (big(x).square() * sign / 2u32).exp()
}

fn true_sf(x: f64) -> Float {
    (big(x) / big(2.0).sqrt()).erfc() / 2u32
}

/// `x Q(x)/φ(x)` for `x > 1000` at `y = 1/x²`, right to `945y⁵ < 1e-27`.
fn asymptotic_sum(y: Float) -> Float {
    [7u32, 5, 3, 1].iter().fold(big(1.0), |sum, k| 1 - sum * *k * &y)
}

fn true_erfcx(x: f64) -> Float {
    if x > 1000.0 {
        return asymptotic_sum((big(x).square() * 2u32).recip()) / big(x) / pi().sqrt();
    }
    big(x).square().exp() * big(x).erfc()
}

fn true_mills(x: f64) -> Float {
    if x > 1000.0 {
        return asymptotic_sum(big(x).square().recip()) / x;
    }
    true_sf(x) * gauss(x, 1) * (pi() * 2u32).sqrt()
}

/// `ln Q(x)` without underflow: the tail as a logarithm where MPFR's own exponent range ends.
fn true_ln_sf(x: f64) -> Float {
    if x < 0.0 {
        return (-true_sf(-x)).ln_1p();
    }
    if x < 1000.0 {
        return true_sf(x).ln();
    }
    -(Float::with_val(600, x).square() / 2u32 + (pi() * 2u32).sqrt().ln() - true_mills(x).ln())
}

struct Check {
    name: &'static str,
    widest: f64,
    at: f64,
}

impl Check {
    fn new(name: &'static str) -> Self {
        Check { name, widest: 0.0, at: 0.0 }
    }

    fn inside(&mut self, x: f64, bounds: Bounds, truth: &Float) {
        let name = self.name;
        assert!(
            bounds.lower() <= *truth && *truth <= bounds.upper(),
            "{name}({x:e}): {bounds:?} misses {truth:.30}"
        );
        let magnitude = truth.clone().abs();
        if magnitude < f64::MIN_POSITIVE {
            assert!(
                bounds.width() <= 16.0 * 5e-324,
                "{name}({x:e}): {bounds:?} is wide among the subnormals"
            );
        } else if magnitude < 1e-290 {
            assert!(
                bounds.relative_width() <= 4e-15,
                "{name}({x:e}): {bounds:?} is wide near the subnormals"
            );
        } else if magnitude < 9e307 && bounds.relative_width() > self.widest {
            (self.widest, self.at) = (bounds.relative_width(), x);
        }
    }

    fn at_most(self, width: f64) {
        eprintln!("{}: relative width {:.2e} at {:e}", self.name, self.widest, self.at);
        assert!(self.widest <= width, "{}({:e}) is wide: {:e}", self.name, self.at, self.widest);
    }
}

/// Arguments of every size, dense where the functions change their formulas.
fn arguments(random: &mut Random, count: usize) -> Vec<f64> {
    let mut xs = vec![
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        1.0,
        -1.0,
        14.2,
        20.0,
        38.0,
        39.0,
        -38.0,
        -39.0,
        20f64.next_down(),
    ];
    xs.extend([f64::MAX, f64::MIN, 1e154, -1e154, f64::MIN_POSITIVE]);
    for i in 0..count {
        xs.push(match i % 4 {
            0 => random.of_any_size(-1074.0, 1023.0),
            1 => random.between(-40.0, 40.0),
            2 => random.of_any_size(-20.0, 6.0),
            _ => random.between(-6.0, 6.0),
        });
    }
    xs
}

#[test]
fn error_functions() {
    let (mut e, mut c, mut s) = (Check::new("erf"), Check::new("erfc"), Check::new("erfcx"));
    for x in arguments(&mut Random(1), 8_000) {
        e.inside(x, erf(x), &big(x).erf());
        c.inside(x, erfc(x), &big(x).erfc());
        if x < -30.0 {
            assert!(erfcx(x).lower() > 1e307 && erfcx(x).upper() == f64::INFINITY);
        } else {
            s.inside(x, erfcx(x), &true_erfcx(x));
        }
    }
    e.at_most(4.5e-16);
    c.at_most(4.5e-16);
    s.at_most(1.4e-15);
}

#[test]
fn density_tails_and_mills_ratio() {
    let (mut d, mut cdf, mut sf) = (Check::new("density"), Check::new("cdf"), Check::new("sf"));
    let mut m = Check::new("mills");
    for x in arguments(&mut Random(2), 8_000) {
        if x > -1e5 {
            m.inside(x, mills_ratio(x), &true_mills(x));
        }
        if x.abs() < 1e5 {
            d.inside(x, normal_density(x), &(gauss(x, -1) / (pi() * 2u32).sqrt()));
            cdf.inside(x, normal_cdf(x), &true_sf(-x));
            sf.inside(x, normal_sf(x), &true_sf(x));
        } else {
            let (zero, one) = (Bounds::new(0.0, 5e-324), normal_cdf(x.abs()));
            assert!(one.lower() > 1.0 - 1e-15 && one.upper() == 1.0);
            assert_eq!(
                (normal_density(x), normal_sf(x.abs()), normal_cdf(-x.abs())),
                (zero, zero, zero)
            );
            assert_eq!(normal_sf(-x.abs()), one);
        }
    }
    d.at_most(1.2e-15);
    cdf.at_most(1e-15);
    sf.at_most(1e-15);
    m.at_most(2e-15);
}

#[test]
fn logarithms_far_below_the_range() {
    let (mut cdf, mut sf) = (Check::new("ln cdf"), Check::new("ln sf"));
    let mut random = Random(3);
    let mut xs = arguments(&mut random, 6_000);
    xs.extend((0..2_000).map(|_| random.of_any_size(4.0, 500.0)));
    for x in xs.into_iter().filter(|x| x.abs() < 1.4e154) {
        let (below, above) = (-x.abs(), x.abs());
        sf.inside(above, ln_normal_sf(above), &true_ln_sf(above));
        cdf.inside(below, ln_normal_cdf(below), &true_ln_sf(above));
        if above < 1e4 {
            sf.inside(below, ln_normal_sf(below), &true_ln_sf(below));
            cdf.inside(above, ln_normal_cdf(above), &true_ln_sf(below));
        }
    }
    cdf.at_most(1.6e-15);
    sf.at_most(1.6e-15);
    assert_eq!(ln_normal_sf(1e200).lower(), f64::NEG_INFINITY);
    assert!(ln_normal_sf(1e200).upper() < -9e307);
}

/// The solution `x` of `Q(x) = p` lies between two numbers where `Q` is at least and at most `p`.
fn assert_brackets(
    name: &str,
    argument: f64,
    x: Bounds,
    at_least: impl Fn(f64) -> bool,
    at_most: impl Fn(f64) -> bool,
) {
    assert!(x.is_finite(), "{name}({argument:e}) in {x:?}");
    assert!(
        at_least(x.lower()) && at_most(x.upper()),
        "{name}({argument:e}): {x:?} misses the solution"
    );
}

#[test]
fn quantiles() {
    let mut random = Random(4);
    let mut ps = vec![
        5e-324,
        1e-323,
        1e-320,
        2.2e-308,
        1e-300,
        1e-290,
        0.25,
        0.5,
        0.75,
        1.0 - f64::EPSILON / 2.0,
    ];
    ps.extend([0.25f64.next_up(), 0.5f64.next_down(), 0.5f64.next_up(), 1e-290f64.next_down()]);
    ps.extend((0..1_500).map(|_| random.between(-1074.0, -1.0).exp2()));
    ps.extend((0..1_500).map(|_| random.between(0.0, 1.0)));
    ps.extend((0..1_000).map(|_| 1.0 - random.between(-53.0, -1.0).exp2()));
    ps.extend((0..1_000).map(|_| 0.5 + random.of_any_size(-53.0, -2.0)));
    let mut widest = (0.0, 0.0);
    for p in ps {
        let x = normal_isf(p);
        assert_brackets("isf", p, x, |x| true_sf(x) >= p, |x| true_sf(x) <= p);
        assert_eq!(normal_quantile(p), -x);
        widest = if x.relative_width() > widest.0 { (x.relative_width(), p) } else { widest };
    }
    eprintln!("quantile: relative width {widest:?}");
    assert!(widest.0 < 2e-15, "{widest:?}");
    assert_eq!(normal_isf(0.5), Bounds::ZERO);
}

#[test]
fn quantiles_of_logarithms() {
    let mut random = Random(5);
    let mut logs = vec![-1e300, -9e307, -1.25, -std::f64::consts::LN_2, -0.5, -1e-300, -5e-324];
    logs.extend((0..3_000).map(|_| -random.between(-1074.0, 1020.0).exp2()));
    logs.extend((0..2_000).map(|_| -random.between(-8.0, 12.0).exp2()));
    let (mut widest, mut central) = ((0.0, 0.0), 0.0f64);
    for ln_p in logs {
        let x = normal_isf_from_ln(ln_p);
        assert_brackets(
            "isf_from_ln",
            ln_p,
            x,
            |x| true_ln_sf(x) >= ln_p,
            |x| true_ln_sf(x) <= ln_p,
        );
        assert_eq!(normal_quantile_from_ln(ln_p), -x);
        if x.estimate().abs() > 0.5 {
            widest =
                if x.relative_width() > widest.0 { (x.relative_width(), ln_p) } else { widest };
        } else {
            central = central.max(x.width());
        }
    }
    eprintln!(
        "quantile of logarithm: relative width {widest:?}, absolute width near zero {central:e}"
    );
    assert!(widest.0 < 3e-15 && central < 3e-15, "{widest:?}, {central:e}");
}

#[test]
fn limits_and_doubt() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    assert_eq!(
        (erf(inf), erf(-inf), erf(nan)),
        (Bounds::ONE, -Bounds::ONE, Bounds::new(-1.0, 1.0))
    );
    assert_eq!(
        (erfc(inf), erfc(-inf), erfc(nan)),
        (Bounds::ZERO, Bounds::exact(2.0), Bounds::new(0.0, 2.0))
    );
    assert_eq!(
        (normal_cdf(inf), normal_cdf(-inf), normal_cdf(nan)),
        (Bounds::ONE, Bounds::ZERO, Bounds::new(0.0, 1.0))
    );
    assert_eq!(
        (normal_sf(inf), normal_sf(-inf), normal_sf(nan)),
        (Bounds::ZERO, Bounds::ONE, Bounds::new(0.0, 1.0))
    );
    assert_eq!((normal_density(inf), normal_density(-inf)), (Bounds::ZERO, Bounds::ZERO));
    assert_eq!(normal_density(nan).lower(), 0.0);
    assert_eq!((mills_ratio(inf), erfcx(inf)), (Bounds::ZERO, Bounds::ZERO));
    assert_eq!((mills_ratio(-inf).upper(), erfcx(-inf).upper()), (inf, inf));
    assert_eq!((mills_ratio(nan), erfcx(nan)), (Bounds::new(0.0, inf), Bounds::new(0.0, inf)));
    assert_eq!((ln_normal_sf(-inf), ln_normal_sf(inf).lower()), (Bounds::ZERO, -inf));
    assert_eq!(ln_normal_cdf(nan), Bounds::new(-inf, 0.0));
    assert_eq!(
        (normal_isf(0.0).upper(), normal_isf(-1.0).upper(), normal_isf(1.0).lower()),
        (inf, inf, -inf)
    );
    assert_eq!((normal_isf_from_ln(0.0).lower(), normal_isf_from_ln(-inf).upper()), (-inf, inf));
    assert_eq!(
        (normal_quantile(nan), normal_isf_from_ln(nan)),
        (Bounds::WHOLE_LINE, Bounds::WHOLE_LINE)
    );
}

/// A function of an interval holds the function of every point, and little more.
#[test]
fn intervals() {
    type Function = (&'static str, fn(Bounds) -> Bounds, fn(f64) -> Bounds);
    let functions: [Function; 10] = [
        ("erf", erf, erf),
        ("erfc", erfc, erfc),
        ("erfcx", erfcx, erfcx),
        ("mills_ratio", mills_ratio, mills_ratio),
        ("density", normal_density, normal_density),
        ("cdf", normal_cdf, normal_cdf),
        ("sf", normal_sf, normal_sf),
        ("ln cdf", ln_normal_cdf, ln_normal_cdf),
        ("ln sf", ln_normal_sf, ln_normal_sf),
        ("isf", normal_isf, normal_isf),
    ];
    let mut random = Random(6);
    for _ in 0..2_000 {
        for (name, of_interval, of_point) in functions {
            let range = if name == "isf" { (0.0, 1.0) } else { (-8.0, 8.0) };
            let (a, b) = (random.between(range.0, range.1), random.between(range.0, range.1));
            let inside = random.between(a.min(b), a.max(b));
            let result = of_interval(Bounds::new(a.min(b), a.max(b)));
            for x in [a, b, inside] {
                let value = of_point(x);
                assert!(
                    result.lower() <= value.upper() && value.lower() <= result.upper(),
                    "{name} of [{a}, {b}] at {x}"
                );
            }
            let ends = [of_point(a), of_point(b)];
            let straddles = name == "density" && a * b < 0.0;
            let upper = if straddles {
                of_point(0.0).upper()
            } else {
                ends[0].upper().max(ends[1].upper())
            };
            assert_eq!(
                result,
                Bounds::new(ends[0].lower().min(ends[1].lower()), upper),
                "{name} of [{a}, {b}]"
            );
        }
    }
}
