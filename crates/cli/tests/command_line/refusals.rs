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
