//! What is refused, and in which words.

use crate::program::reticent;

/// Each request with what its message must say.
#[test]
fn messages_name_the_option_and_what_is_accepted() {
    for (request, expected) in [
        ("calibrate laplace --epsilon 1", "give one of --sensitivity, --l1, --per-element"),
        ("calibrate laplace --sensitivity 1", "the laplace mechanism needs --epsilon"),
        (
            "calibrate laplace --epsilon 1 --delta 1e-6 --sensitivity 1",
            "--delta is not used by the pure laplace mechanism",
        ),
        ("calibrate laplace --epsilon 1 --sensitivity 1 --l1 2", "--sensitivity, --l1 all say"),
        ("calibrate laplace --epsilon 1 --sensitivity 1 --order 2", "--order is not used by the laplace mechanism"),
        ("calibrate laplace --epsilon -1 --sensitivity 1", "`epsilon` is -1e0"),
        ("calibrate laplace --epsilon nan --sensitivity 1", "`epsilon` is NaN"),
        ("calibrate laplace --epsilon 0 --sensitivity 1", "`epsilon` is 0e0"),
        ("calibrate laplace --epsilon 701 --sensitivity 1", "`epsilon` is 7.01e2"),
        (
            "calibrate laplace --epsilon one --sensitivity 1",
            "invalid value 'one' for '--epsilon <E>': it is not a number",
        ),
        ("calibrate laplace --epsilon 1 --sensitivity -inf", "`sensitivity` is -inf"),
        ("calibrate gaussian --epsilon 1 --sensitivity 1", "the gaussian mechanism needs --delta"),
        ("calibrate gaussian --epsilon 1 --delta 0 --sensitivity 1", "`delta` is 0e0"),
        ("calibrate gaussian --epsilon 1 --delta 1 --sensitivity 1", "`delta` is 1e0"),
        (
            "calibrate gaussian --epsilon 1 --delta 1e-6 --sensitivity 1 --method magic",
            "knows analytic, classical-2006",
        ),
        ("calibrate gauss --epsilon 1", "there is no such mechanism; there are"),
        ("noise gaussian --epsilon 1 --delta 1e-6 --sensitivity 1 --sigma 2", "--sigma cannot be given with --epsilon"),
        ("noise gaussian --delta 1e-6 --sensitivity 1 --sigma 2", "--delta is used to calibrate"),
        ("calibrate generalized-gaussian --epsilon 1 --delta 1e-6 --sensitivity 1", "needs --order"),
        ("calibrate generalized-gaussian --order 3 --epsilon 1 --sensitivity 1", "needs --delta, or --bounds"),
        ("calibrate generalized-gaussian --order 2 --epsilon 1 --sensitivity 1 --bounds 3,-1", "--bounds is 3,-1"),
        (
            "calibrate generalized-gaussian --order 2 --epsilon 1 --delta 0.1 --sensitivity 1 --bounds 0,1",
            "its promise is pure",
        ),
        (
            "calibrate generalized-gaussian --order 2 --epsilon 1 --delta 0.1 --sensitivity 1 --method paper",
            "needs --bounds",
        ),
        (
            "calibrate gaussian --notion pure --epsilon 1 --delta 0.1 --sensitivity 1",
            "--notion is pure, but gaussian noise",
        ),
        (
            "calibrate gaussian --epsilon 9 --delta 1e-5 --sensitivity 1 --method classical-2014",
            "really give delta = 1.358814e-5",
        ),
        (
            "calibrate gaussian --notion probabilistic --epsilon 1 --delta 1e-5 --sensitivity 1 --clamp 0,1",
            "approximate notion",
        ),
        (
            "calibrate discrete-laplace --epsilon 1 --sensitivity 1.5",
            "`sensitivity` is 1.5e0, but it must be an integer",
        ),
        ("calibrate staircase --epsilon 1 --sensitivity 1 --metric speed", "--metric is `speed`"),
        ("calibrate randomized-response --epsilon 1 --categories 1", "`categories` is 1e0"),
        ("calibrate random-scale-laplace --epsilon 1 --sensitivity 1", "needs --family"),
        ("calibrate random-scale-laplace --family gamma --epsilon 1 --sensitivity 1", "the family gamma needs --shape"),
        (
            "calibrate random-scale-laplace --family gamma --shape 2 --mu 1 --epsilon 1 --sensitivity 1",
            "--mu is not a parameter of the family gamma",
        ),
        ("calibrate random-scale-laplace --family gamma --shape 2 --epsilon 1 --l1 1", "needs --dimension"),
        ("calibrate random-scale-gaussian --sigmas 1,2 --epsilon 1 --delta 0.1 --sensitivity 1", "--sigmas holds `1`"),
        ("calibrate truncated-laplace --epsilon 1 --delta 0.7 --sensitivity 1", "`delta` is 7e-1, but it must be"),
        ("profile truncated-laplace --scale 1 --sensitivity 1", "needs --support"),
        ("noise exponential --epsilon 1 --sensitivity 1 --count 3", "adds no noise to an answer"),
        ("noise laplace --epsilon 1 --sensitivity 1 --clamp 0,1 --count 3", "--clamp would make depend"),
        ("profile laplace --sigma 1", "--sigma is not used by the laplace mechanism"),
        ("profile laplace", "the laplace mechanism needs --scale"),
        ("profile laplace --scale 1 --epsilon 1,nan", "`epsilon` is NaN"),
        ("profile laplace --scale 1 --epsilon 1,,2", "it is not a number"),
    ] {
        let message = reticent(request).refused();
        assert!(message.contains(expected), "{request}\n{message}");
        assert!(message.starts_with("error: "), "{message}");
    }
}

#[test]
fn unknown_commands_and_options_are_wrong_usage() {
    for request in
        ["", "calibrte", "calibrate", "calibrate laplace --epsilon", "mechanisms --all", "--format yaml mechanisms"]
    {
        reticent(request).refused();
    }
}
