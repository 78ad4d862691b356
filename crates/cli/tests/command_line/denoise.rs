//! `reticent denoise`.

use crate::program::{Run, TemporaryFile, reticent, reticent_with_input, run};

/// Runs `denoise` with noise in words and more options, separated by blanks.
fn denoise(noise: &str, options: &str, input: &[u8]) -> Run {
    let mut arguments = vec!["denoise", "--noise", noise];
    arguments.extend(options.split_whitespace());
    run(&arguments, input)
}

fn numbers(text: &str) -> Vec<f64> {
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn a_release_is_piped_from_noise_to_denoise() {
    let zeros = "0\n".repeat(5_000);
    let release = reticent_with_input(
        "noise laplace --epsilon 0.1 --sensitivity 1 --format json",
        zeros.as_bytes(),
    );
    let file = release.done();
    let better = reticent_with_input("denoise --non-negative --format json", file.as_bytes());
    assert!(better.stderr.contains("Method: auto: "), "{}", better.stderr);
    let answer = better.json();
    assert_eq!(answer["release"]["event"]["mechanism"], "laplace");
    assert_eq!(answer["release"]["guarantee"]["epsilon"], 0.1);
    let values: Vec<f64> =
        answer["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    let error: f64 = values.iter().map(|value| value * value).sum();
    // 5,000 variances of 200. Without denoising, the negative values set to zero would leave a half
    // of that, give or take 2%; with it, the largest of 450 runs left 4%. A choice that leaves more
    // than 40% would need an estimate that is 12 of its standard errors off.
    assert!((answer["denoised"]["risk_before"].as_f64().unwrap() / 1e6 - 1.0).abs() < 1e-9);
    assert!(error < 4e5 && values.len() == 5_000, "{error}");
    assert!(answer["denoised"]["risk_after"]["value"].as_f64().unwrap() < 1e6);
    // What was denoised is not denoised again.
    let message = reticent_with_input("denoise", answer.to_string().as_bytes()).refused();
    assert!(message.contains("denoised before"), "{message}");
}

#[test]
fn numbers_and_tables_come_out_as_they_went_in() {
    let text =
        denoise("gaussian sigma=1", "--method soft-threshold --threshold 2", b"5\n-1\n-4\n").done();
    assert_eq!(numbers(&text), [3.0, 0.0, -2.0]);
    let file = TemporaryFile::new("released.csv", b"town,count\nA,3\nB,-2\n");
    let options = format!("--method non-negative --column count --input {}", file.path());
    assert_eq!(denoise("laplace scale=1", &options, b"").done(), "town,count\nA,3\nB,0\n");
    let answer = denoise("laplace scale=1,2", "--method none --format json", b"5\n-1\n").json();
    assert_eq!(answer["denoised"]["risk_before"], 10.0);
    assert_eq!(answer["denoised"]["risk_after"]["unbiased"], true);
    assert!(answer.get("release").is_none());
}

#[test]
fn every_method_runs() {
    let input = b"4\n-1\n0.5\n7\n2\n-3\n0.1\n9\n";
    for (options, expected) in [
        ("--method auto", None),
        ("--method auto --within -5,20", None),
        ("--method james-stein --towards mean --block 4", None),
        ("--method james-stein-positive", None),
        ("--method wavelet-universal --graph line", None),
        ("--method wavelet --graph line --trees 2", None),
        ("--method ball --ball 1:20", None),
        ("--method ball --ball 0.5:20", None),
        ("--method ball --ball 3:20", None),
        ("--method ball-projection --ball 1:3", Some([0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 2.5])),
        ("--method markov-chain --log-prior=-t^2/8 --draws 2000", None),
        ("--method markov-chain --log-prior=0 --log-prior-steps=-t^2/2 --draws 2000", None),
        ("--method hard-threshold --threshold 3", Some([4.0, 0.0, 0.0, 7.0, 0.0, 0.0, 0.0, 9.0])),
        ("--method sure-threshold", None),
        ("--method empirical-bayes", None),
        ("--method within --within 0,5", Some([4.0, 0.0, 0.5, 5.0, 2.0, 0.0, 0.1, 5.0])),
        ("--method total --total 26.6", Some([5.0, 0.0, 1.5, 8.0, 3.0, -2.0, 1.1, 10.0])),
        (
            "--method noisy-total --total 26.6 --total-variance 8",
            Some([4.5, -0.5, 1.0, 7.5, 2.5, -2.5, 0.6, 9.5]),
        ),
        ("--method non-negative --total 10", None),
        ("--method wavelet --graph line", None),
        ("--method multiscale --graph line --block 3", None),
        ("--method multiscale --graph grid:4x2", None),
        ("--method auto --graph grid:4x2 --non-negative", None),
        ("--method trend-filter --graph grid:2x4", None),
        ("--method trend-filter --graph line --order 2", None),
        ("--method auto --graph line", None),
        ("--method isotonic", None),
        ("--method isotonic --decreasing", None),
        ("--method margins --rows 10,10 --columns 5,5,5,5", None),
        ("--method margins --rows 12,8 --columns 5,0,1,14 --non-negative", None),
        ("--method integer", Some([4.0, -1.0, 1.0, 7.0, 2.0, -3.0, 0.0, 9.0])),
        ("--method integer --keep-total", None),
    ] {
        let values = numbers(&denoise("gaussian sigma=1", options, input).done());
        assert!(
            values.len() == 8 && values.iter().all(|value| value.is_finite()),
            "{options}: {values:?}"
        );
        if let Some(expected) = expected {
            let off = values
                .iter()
                .zip(expected)
                .map(|(left, right)| (left - right).abs())
                .fold(0.0, f64::max);
            assert!(off < 1e-9, "{options}: {values:?}");
        }
    }
    let options = "--method margins --rows 12,8 --columns 5,0,1,14 --non-negative";
    let table = numbers(&denoise("gaussian sigma=1", options, input).done());
    assert!(table.iter().all(|&value| value >= 0.0), "{table:?}");
    assert!(
        (table[..4].iter().sum::<f64>() - 12.0).abs() < 1e-7 && table[1] + table[5] < 1e-7,
        "{table:?}"
    );
    let arguments = [
        "denoise",
        "--noise",
        "gaussian sigma=1",
        "--method",
        "bayes",
        "--prior",
        "gaussian mean=0 sd=1",
    ];
    let values = numbers(&run(&arguments, b"4\n-2\n").done());
    assert!((values[0] - 2.0).abs() < 1e-5 && (values[1] + 1.0).abs() < 1e-5, "{values:?}");
}

/// Theorem 10: one prior in four forms, as a name, a density, a log density and a sample, and as
/// the log density of a Markov chain, has one posterior mean: half of each value.
#[test]
fn a_prior_may_be_a_density_a_sample_or_a_log_density() {
    let quantiles: Vec<String> = (0..4000)
        .map(|i| {
            // A normal sample by Box and Muller from evenly spaced uniforms.
            let (u, v) = ((f64::from(i) + 0.5) / 4000.0, f64::from(i) * 0.618_034 % 1.0);
            ((-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()).to_string()
        })
        .collect();
    let sample = TemporaryFile::new("prior.txt", quantiles.join("\n").as_bytes());
    let file = format!("sample file={}", sample.path());
    for (prior, tolerance) in [
        ("density f=exp(-t^2/2) lower=-9 upper=9", 1e-4),
        ("log-density f=-t^2/2 lower=-9 upper=9", 1e-4),
        (file.as_str(), 0.1),
    ] {
        let arguments =
            ["denoise", "--noise", "gaussian sigma=1", "--method", "bayes", "--prior", prior];
        let values = numbers(&run(&arguments, b"2\n-1\n").done());
        assert!((values[0] - 1.0).abs() < tolerance, "{prior}: {values:?}");
        assert!((values[1] + 0.5).abs() < tolerance, "{prior}: {values:?}");
    }
    let options = "--method markov-chain --log-prior=-t^2/2 --draws 8000";
    let chain = denoise("gaussian sigma=1", options, b"2\n-1\n");
    assert!(chain.stderr.contains("R-hat at most 1.0"), "{}", chain.stderr);
    let values = numbers(&chain.done());
    // The seed is fixed; the Monte Carlo error is below 0.02.
    assert!((values[0] - 1.0).abs() < 0.1 && (values[1] + 0.5).abs() < 0.1, "{values:?}");
    for (prior, expected) in [
        ("density f=-1 lower=0 upper=1", "not negative"),
        ("density f=0 lower=0 upper=1", "zero everywhere"),
        ("density f=1 lower=1 upper=0", "upper end"),
        ("density f=x lower=0 upper=1", "cannot be read"),
        ("sample", "either values= or file="),
    ] {
        let arguments =
            ["denoise", "--noise", "gaussian sigma=1", "--method", "bayes", "--prior", prior];
        let message = run(&arguments, b"2\n").refused();
        assert!(message.contains(expected), "{prior}: {message}");
    }
}

/// An answer of a query with two groups, marked as counts or not.
fn answer_of_query(count: bool) -> String {
    let mark = if count { r#","count":true"# } else { "" };
    format!(
        r#"{{"groups":{{"columns":["town"],"rows":[["A, B"],[null]]}},"releases":{{"n":{{"release":{{"mechanism":"discrete-laplace","event":{{"mechanism":"discrete-laplace","scale":2,"sensitivity":1}},"guarantee":{{"notion":"pure","epsilon":0.5,"delta":0}},"spacing":1,"random":"secure"{mark}}},"values":[12,-3]}}}}}}"#
    )
}

/// Issue 17: `denoise` printed JSON where a table was asked for, refused CSV, left negative counts
/// in what `query` had marked as counts, and its picture said "place".
#[test]
fn an_answer_is_shown_as_asked_and_counts_are_not_negative() {
    let answer = answer_of_query(true);
    let table = reticent_with_input("denoise", answer.as_bytes());
    assert!(table.stderr.contains("no true value is negative"), "{}", table.stderr);
    assert_eq!(table.done(), "town  n\n----  --\nA, B  12\nNULL  0\n");
    let csv = reticent_with_input("denoise --format csv", answer.as_bytes()).done();
    assert_eq!(csv, "town,n\n\"A, B\",12\n,0\n");
    let json = reticent_with_input("denoise --format json", answer.as_bytes()).json();
    assert_eq!(json["values"][1], 0.0);
    assert_eq!(json["column"], "n");
    let refused = reticent_with_input("denoise --format parquet", answer.as_bytes()).refused();
    assert!(refused.contains("table, csv and json"), "{refused}");
    let plain = answer_of_query(false);
    let values = reticent_with_input("denoise --format csv", plain.as_bytes()).done();
    assert_eq!(values, "town,n\n\"A, B\",12\n,-3\n", "nothing says that these are counts");
    let numbers = denoise("gaussian sigma=1", "--method none --format csv", b"1\n2\n").done();
    assert_eq!(numbers, "value\n1\n2\n");
    let file = TemporaryFile::new("index.svg", b"");
    let options = format!("--method none --plot {}", file.path());
    denoise("gaussian sigma=1", &options, b"1\n2\n3\n").done();
    let picture = std::fs::read_to_string(file.path()).unwrap();
    assert!(picture.contains("index, from 1 to 3") && !picture.contains("place"));
}

/// James-Stein as printed turns a short vector round; its positive part erases it.
#[test]
fn estimators_as_printed_stand_beside_the_improved_ones() {
    let input = b"0.5\n-0.5\n0.5\n0.5\n";
    let printed = denoise("gaussian sigma=1", "--method james-stein", input);
    assert!(printed.stderr.contains("as in Theorem 11"), "{}", printed.stderr);
    // 1 - (4 - 2)/1 = -1.
    assert_eq!(numbers(&printed.done()), [-0.5, 0.5, -0.5, -0.5]);
    let positive = denoise("gaussian sigma=1", "--method james-stein-positive", input);
    assert!(positive.stderr.contains("positive part"), "{}", positive.stderr);
    assert_eq!(numbers(&positive.done()), [0.0; 4]);
    let options = "--method wavelet-universal --graph line";
    let universal = denoise("gaussian sigma=1", options, input);
    assert!(universal.stderr.contains("universal soft threshold"), "{}", universal.stderr);
}

#[test]
fn a_graph_is_read_from_a_file() {
    let edges = TemporaryFile::new("edges.csv", b"from,to\nA,B\nB,C\nD,E\nE,F\n");
    let values =
        TemporaryFile::new("nodes.csv", b"node,count\nA,10\nB,10.4\nC,9.8\nD,0.2\nE,-0.4\nF,0.1\n");
    let options = format!(
        "--method trend-filter --graph {} --node-column node --column count --input {}",
        edges.path(),
        values.path()
    );
    let text = denoise("gaussian sigma=1", &options, b"").done();
    let counts: Vec<f64> =
        text.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    // Two components, each nearly constant.
    assert!((counts[0] - counts[2]).abs() < 0.05 && (counts[3] - counts[5]).abs() < 0.05, "{text}");
    assert!((counts[0] - 10.07).abs() < 0.2 && counts[3].abs() < 0.2, "{text}");
    let numbered = TemporaryFile::new("numbered.csv", b"0,1\n1,2\n");
    let options = format!("--method trend-filter --graph {} --first-node 0", numbered.path());
    denoise("gaussian sigma=1", &options, b"1\n2\n3\n").done();
    let message =
        denoise("gaussian sigma=1", &options.replace("--first-node 0", ""), b"1\n2\n3\n").refused();
    assert!(message.contains("1 to 3"), "{message}");
}

#[test]
fn a_picture_is_drawn() {
    let file = TemporaryFile::new("values.svg", b"");
    denoise(
        "gaussian sigma=1",
        &format!("--method james-stein --plot {}", file.path()),
        b"1\n2\n3\n",
    )
    .done();
    let picture = std::fs::read_to_string(file.path()).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("James-Stein"));
}

#[test]
fn what_is_wrong_is_refused_with_what_would_be_right() {
    let input = b"1\n2\n";
    for (options, expected) in [
        ("--method james-stein", "at least 3"),
        ("--method bayes", "needs --prior"),
        ("--method total", "needs --total"),
        ("--method isotonic --total 3", "--total is not used"),
        ("--method within --within 3,1", "the smaller first"),
        ("--method within --within nan,1", "the smaller first"),
        ("--method soft-threshold --threshold -1", "threshold"),
        ("--method total --total inf", "total"),
        ("--method margins --rows 1 --columns 2,2", "contradicts"),
        ("--method margins --rows 1 --columns 2,-1 --non-negative", "negative"),
        ("--method margins --rows 1,1,1 --columns 2,2", "coordinates in an equation"),
        ("--method wavelet", "needs --graph"),
        ("--method multiscale --graph edges.csv", "line or grid"),
        ("--method multiscale --graph grid:3x3", "9 of `cells`"),
        ("--method multiscale --graph line --block 2", "block"),
        ("--method trend-filter --graph line --order 3", "0, 1 or 2"),
        ("--method trend-filter --graph grid:3x3", "9 are needed"),
        ("--method trend-filter --graph grid:0x", "grid"),
        ("--method ball", "needs --ball"),
        ("--method ball --ball 5", "such as 1:500"),
        ("--method ball --ball 0:5", "order of the ball"),
        ("--method ball --ball 1:-5", "radius of the ball"),
        ("--method ball-projection --ball 0.5:5", "1 or 2"),
        ("--method wavelet --graph line --trees 0", "from 1 to 1000"),
        ("--method markov-chain", "needs --log-prior"),
        ("--method markov-chain --log-prior x", "cannot be read"),
        ("--method markov-chain --log-prior ln(t-9)", "log density"),
        ("--method markov-chain --log-prior 0 --draws 5", "draws"),
        ("--method nonsense", "possible values"),
    ] {
        let refused = denoise("gaussian sigma=1", options, input);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{options}: {refused:?}");
        assert!(refused.stderr.contains(expected), "{options}: {}", refused.stderr);
    }
    for (noise, expected) in [
        ("gaussian sigma=nan", "scale"),
        ("gaussian sigma=1,2,3", "scales"),
        ("cauchy", "there is no mechanism `cauchy`"),
        ("discrete-laplace scale=0", "scale"),
    ] {
        let message = denoise(noise, "", input).refused();
        assert!(message.contains(expected), "{noise}: {message}");
    }
    assert!(reticent_with_input("denoise", input).refused().contains("--noise is needed"));
    assert!(denoise("gaussian sigma=1", "", b"1\nnan\n").refused().contains("line 2"));
    assert!(denoise("gaussian sigma=1", "", b"1\n1e200\n").refused().contains("value 2"));
    assert!(denoise("gaussian sigma=1", "", b"").refused().contains("empty"));
    assert_eq!(denoise("gaussian sigma=1", "--input /no/such/file", b"").code, 1);
}

#[test]
fn releases_that_are_no_sum_are_refused() {
    let choice = reticent_with_input(
        "noise exponential --epsilon 1 --sensitivity 1 --format json",
        b"1\n2\n",
    )
    .done();
    let message = reticent_with_input("denoise", choice.as_bytes()).refused();
    assert!(message.contains("`exponential`"), "{message}");
    let clamped = reticent_with_input(
        "noise laplace --epsilon 1 --sensitivity 1 --clamp 0,9 --format json",
        b"1\n",
    )
    .done();
    assert!(reticent_with_input("denoise", clamped.as_bytes()).refused().contains("clamped"));
    let mut arguments = vec!["denoise", "--noise", "laplace scale=1"];
    let plain =
        reticent("noise laplace --epsilon 1 --sensitivity 1 --count 3 --format json").done();
    assert!(run(&arguments, plain.as_bytes()).refused().contains("--noise cannot be given"));
    arguments.truncate(1);
    assert!(run(&arguments, plain.as_bytes()).code == 0);
    for mechanism in [
        "gaussian sigma=2 sensitivity=1",
        "discrete-laplace scale=3 sensitivity=1",
        "discrete-gaussian sigma=2 sensitivity=1",
        "staircase epsilon=1 gamma=0.3 sensitivity=2",
        "generalized-gaussian order=3 scale=2 sensitivities=1",
        "random-scale-laplace inverse_scale=[gamma shape=5 theta=1] sensitivity=1",
        "random-scale-gaussian sigmas=1:0.9,3:0.1 sensitivity=1",
    ] {
        let release = reticent(&format!("noise {mechanism} --count 80 --format json")).done();
        let answer = reticent_with_input("denoise --format json", release.as_bytes()).json();
        assert_eq!(answer["values"].as_array().unwrap().len(), 80, "{mechanism}");
    }
}

/// Every method with values and scales at the ends of what is accepted: a documented exit code,
/// finite numbers, no panic.
#[test]
fn extreme_values_never_panic() {
    let methods = [
        "auto",
        "auto --non-negative",
        "auto --graph line",
        "none",
        "james-stein",
        "soft-threshold",
        "hard-threshold",
        "sure-threshold",
        "empirical-bayes",
        "multiscale --graph line",
        "wavelet --graph line",
        "wavelet-universal --graph line",
        "james-stein-positive",
        "ball --ball 1:5",
        "ball --ball 0.5:1e75",
        "ball-projection --ball 2:1e-75",
        "trend-filter --graph line",
        "trend-filter --graph line --order 2",
        "non-negative",
        "non-negative --total 5",
        "total --total 1e150",
        "isotonic",
        "margins --rows 0,1 --columns 1,0,0,0",
        "margins --rows 0,1 --columns 1,0,0,0 --non-negative",
        "integer --keep-total",
    ];
    let inputs = [
        "1e150\n-1e150\n0\n1e-300\n5e-324\n-0\n1\n1e15\n",
        "0\n0\n0\n0\n0\n0\n0\n0\n",
        "1e149\n1e149\n1e149\n1e149\n1e149\n1e149\n1e149\n1e149\n",
        "1\n",
        "1\n2\n",
    ];
    let noises = [
        "gaussian sigma=1",
        "gaussian sigma=1e-75",
        "laplace scale=1e75",
        "laplace scale=1,1e-75,1e75,1,1,1,1,1",
        "discrete-laplace scale=0.001",
        "discrete-laplace scale=1e15",
        "generalized-gaussian order=0.2 scale=1",
    ];
    for method in methods {
        for input in inputs {
            for noise in noises {
                let run = denoise(noise, &format!("--method {method}"), input.as_bytes());
                let what = format!("{method} / {noise} / {input:?}: {run:?}");
                assert!([0, 2].contains(&run.code) && !run.stderr.contains("panicked"), "{what}");
                assert!(run.code == 0 || run.stdout.is_empty(), "{what}");
                assert!(
                    run.code == 2 || numbers(&run.stdout).iter().all(|value| value.is_finite()),
                    "{what}"
                );
                assert!(!run.stderr.contains("NaN"), "{what}");
            }
        }
    }
}
