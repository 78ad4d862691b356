//! What is refused, and in which words.

use crate::program::reticent;

/// Each request with what its message must say.
#[test]
fn messages_name_the_option_and_what_is_accepted() {
    for (request, expected) in [
        (
            "calibrate laplace --epsilon 1",
            "give one of --sensitivity, --l1, --l2, --lp, --per-element",
        ),
        ("calibrate laplace --sensitivity 1", "a budget needs --epsilon"),
        (
            "calibrate laplace --epsilon 1 --delta 1e-6 --sensitivity 1",
            "the laplace mechanism is one of pure differential privacy: it takes no `delta`",
        ),
        ("calibrate laplace --epsilon 1 --sensitivity 1 --l1 2", "cannot be used with"),
        (
            "calibrate laplace order=2 --epsilon 1 --sensitivity 1",
            "laplace: there is no parameter `order`",
        ),
        ("calibrate laplace --epsilon -1 --sensitivity 1", "`epsilon` is -1,"),
        ("calibrate laplace --epsilon nan --sensitivity 1", "`epsilon` is NaN"),
        ("calibrate laplace --epsilon 0 --sensitivity 1", "`epsilon` is 0,"),
        ("calibrate laplace --epsilon 701 --sensitivity 1", "`epsilon` is 701,"),
        (
            "calibrate laplace --epsilon one --sensitivity 1",
            "invalid value 'one' for '--epsilon <E>': it is not a number",
        ),
        ("calibrate laplace --epsilon 1 --sensitivity -inf", "`sensitivity` is -inf"),
        ("calibrate laplace --epsilon 1 --l1 1", "number of coordinates"),
        (
            "calibrate gaussian --epsilon 1 --sensitivity 1",
            "the gaussian mechanism needs a `delta`",
        ),
        ("calibrate gaussian --epsilon 1 --delta 0 --sensitivity 1", "`delta` is 0,"),
        ("calibrate gaussian --epsilon 1 --delta 1 --sensitivity 1", "`delta` is 1,"),
        (
            "calibrate gaussian method=magic --epsilon 1 --delta 1e-6 --sensitivity 1",
            "`method` is `magic`, but it must be one of analytic, classical-2006",
        ),
        ("calibrate gauss --epsilon 1", "there is no mechanism `gauss`; there are"),
        (
            "noise gaussian sigma=2 --epsilon 1 --delta 1e-6 --sensitivity 1",
            "gaussian: there is no parameter `sigma`; there are method",
        ),
        ("noise gaussian sigma=2 --delta 1e-6 --sensitivity 1", "there is no parameter `sigma`"),
        ("noise gaussian sigma=2 --sensitivity 1", "`sensitivity=`"),
        (
            "calibrate generalized-gaussian --epsilon 1 --delta 1e-6 --sensitivity 1",
            "generalized-gaussian: `order` is missing",
        ),
        (
            "calibrate generalized-gaussian order=3 --epsilon 1 --sensitivity 1",
            "orders above 1 need a delta, or bounds",
        ),
        (
            "calibrate truncated-generalized-gaussian order=2 lower=3 upper=-1 --epsilon 1 \
             --sensitivity 1",
            "`upper bound` is -1, but it must be above the lower bound",
        ),
        (
            "calibrate truncated-generalized-gaussian order=2 lower=0 upper=1 --epsilon 1 --delta \
             0.1 --sensitivity 1",
            "it takes no `delta`",
        ),
        (
            "calibrate generalized-gaussian order=2 method=paper --epsilon 1 --delta 0.1 \
             --sensitivity 1",
            "`method` is `paper`",
        ),
        (
            "calibrate gaussian method=classical-2014 --epsilon 9 --delta 1e-5 --sensitivity 1",
            "really give delta = 1.358814e-5",
        ),
        (
            "calibrate gaussian method=probabilistic --epsilon 1 --delta 1e-5 --sensitivity 1 \
             --clamp 0,1",
            "approximate notion",
        ),
        (
            "calibrate discrete-laplace --epsilon 1 --sensitivity 1.5",
            "`sensitivity` is 1.5, but it must be an integer",
        ),
        ("calibrate staircase aim=speed --epsilon 1 --sensitivity 1", "`aim` is `speed`"),
        ("calibrate randomized-response categories=1 --epsilon 1", "`categories` is 1,"),
        ("calibrate randomized-response categories=3 --epsilon 1 --l1 1", "has no sensitivity"),
        (
            "calibrate random-scale-laplace --epsilon 1 --sensitivity 1",
            "`inverse_scale` is missing",
        ),
        (
            "calibrate random-scale-laplace inverse_scale=[gamma theta=1] --epsilon 1 \
             --sensitivity 1",
            "gamma: `shape` is missing",
        ),
        (
            "calibrate random-scale-laplace inverse_scale=[gamma shape=2 mu=1] --epsilon 1 \
             --sensitivity 1",
            "gamma: there is no parameter `mu`",
        ),
        (
            "calibrate random-scale-laplace inverse_scale=[gamma shape=2 theta=1] --epsilon 1 \
             --l1 1",
            "needs the number of `coordinates`",
        ),
        (
            "calibrate random-scale-gaussian sigmas=1,2 --epsilon 1 --delta 0.1 --sensitivity 1",
            "`sigmas` is `1,2`",
        ),
        (
            "calibrate truncated-laplace --epsilon 1 --delta 0.7 --sensitivity 1",
            "`delta` is 0.7, but it must be",
        ),
        ("profile truncated-laplace scale=1", "`support_in_scales` is missing"),
        ("profile composition events=[laplace scale=1]", "does not describe one mechanism"),
        ("noise exponential --epsilon 1 --sensitivity 1 --count 3", "adds no noise to an answer"),
        ("noise laplace --epsilon 1 --sensitivity 1 --clamp 0,1 --count 3", "would make depend"),
        ("profile laplace sigma=1", "laplace: there is no parameter `sigma`"),
        ("profile laplace", "laplace: `scale` is missing"),
        ("profile laplace scale=1 --epsilon 1,nan", "`epsilon` is NaN"),
        ("profile laplace scale=1 --epsilon 1,,2", "it is not a number"),
    ] {
        let message = reticent(request).refused();
        assert!(message.contains(expected), "{request}\n{message}");
        assert!(message.starts_with("error: "), "{message}");
    }
}

#[test]
fn unknown_commands_and_options_are_wrong_usage() {
    for request in [
        "",
        "calibrte",
        "calibrate",
        "calibrate laplace --epsilon",
        "mechanisms --all",
        "--format yaml mechanisms",
    ] {
        reticent(request).refused();
    }
}
