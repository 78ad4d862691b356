//! What is known of an answer, and what follows.

use super::Neighbours::{AddRemove, Replace};
use super::*;

#[test]
fn erratum_adjacency_a_replaced_unit_moves_two_cells_of_a_histogram() {
    for order in [0.5, 1.0, 1.5, 2.0, 3.0, 10.0] {
        let printed = Sensitivity::histogram(AddRemove).order(order).expect("valid");
        assert_eq!(printed, 1.0);
        // A unit that leaves the first cell for the second.
        let moved = (1f64.powf(order) + 1f64.powf(order)).powf(1.0 / order);
        assert!(moved > printed, "order {order}: the printed 1 would hold");
        let corrected = Sensitivity::histogram(Replace).order(order).expect("valid");
        assert!(
            corrected >= moved * (1.0 - 1e-15) && corrected <= moved * (1.0 + 1e-14),
            "order {order}: {corrected}"
        );
    }
    assert_eq!(Sensitivity::histogram(Replace).order(f64::INFINITY), Ok(1.0));
    let converted = Sensitivity::histogram(AddRemove).under_replace().expect("valid");
    assert_eq!(converted, Sensitivity::histogram(Replace));
}

#[test]
fn lemma_2_and_claim_3_bound_every_vector_in_the_box_and_are_attained() {
    let widths = [1.0, 0.1, 0.05];
    let lemma = Sensitivity::per_element(&widths, AddRemove).expect("valid");
    let claim =
        Sensitivity::ranges(&[(-0.5, 0.5), (0.0, 0.1), (1.0, 1.05)], AddRemove).expect("valid");
    for order in [0.3, 0.5, 1.0, 1.7, 2.0, 3.0, 40.0, 2000.0] {
        let corner = widths
            .iter()
            .map(|d| rug::Float::with_val(200, *d))
            .fold(rug::Float::with_val(200, 0), |sum, d| {
                sum + rug::ops::Pow::pow(d, rug::Float::with_val(200, order))
            });
        let corner = rug::ops::Pow::pow(corner, rug::Float::with_val(200, 1) / order);
        let bound = lemma.order(order).expect("valid");
        assert!(bound >= corner, "order {order}: {bound} is below {corner}");
        assert!(
            bound <= corner.to_f64() * (1.0 + 1e-15),
            "order {order}: {bound} is far above {corner}"
        );
        // 1.05 - 1.0 is 0.05 and a little more in f64.
        let claimed = claim.order(order).expect("valid");
        assert!(claimed >= bound && claimed <= bound * (1.0 + 1e-14));
    }
    assert_eq!(lemma.order(f64::INFINITY), Ok(1.0));
    assert_eq!(
        Sensitivity::per_element(&[0.0, 7.0, 0.0], AddRemove).and_then(|s| s.order(3.3)),
        Ok(7.0)
    );
}

#[test]
fn norms_convert_downwards_only_with_the_number_of_coordinates() {
    let l2 = Sensitivity::l2_bound(3.0, AddRemove).expect("valid");
    assert_eq!(l2.order(2.0), Ok(3.0));
    assert_eq!(l2.order(7.0), Ok(3.0));
    assert_eq!(l2.order(f64::INFINITY), Ok(3.0));
    let refused = l2.l1().expect_err("the length is not known").to_string();
    assert!(refused.contains("l2") && refused.contains("number of coordinates"), "{refused}");
    // (1, 1, ..., 1) attains sqrt(r).
    let known = l2.with_coordinates(16).expect("valid");
    assert!((12.0..12.000_000_000_001).contains(&known.l1().expect("known")), "{known:?}");
    let cube = Sensitivity::norm(f64::INFINITY, 1.0, Replace)
        .and_then(|s| s.with_coordinates(9))
        .expect("valid");
    assert!((9.0..9.000_000_000_001).contains(&cube.l1().expect("known")));
    assert!((3.0..3.000_000_000_001).contains(&cube.l2().expect("known")));
}

#[test]
fn replacement_is_a_removal_and_an_addition() {
    let scalar = Sensitivity::scalar(0.7, AddRemove).expect("valid");
    assert_eq!(scalar.under_replace(), Sensitivity::scalar(1.4, Replace));
    let l2 = Sensitivity::l2_bound(3.0, AddRemove).and_then(|s| s.under_replace()).expect("valid");
    assert_eq!((l2.l2(), l2.neighbours()), (Ok(6.0), Replace));
    // Not a norm: (1, 0) and (0, 1) have l_1/2 "length" 1 each, and their sum has 4.
    let half =
        Sensitivity::norm(0.5, 1.0, AddRemove).and_then(|s| s.under_replace()).expect("valid");
    assert!((4.0..4.000_000_000_001).contains(&half.order(0.5).expect("valid")));
    assert_eq!(scalar.one_coordinate(), Some(0.7));
    assert_eq!(l2.one_coordinate(), None);
    assert_eq!(l2.with_coordinates(1).map(|s| s.one_coordinate()), Ok(Some(6.0)));
    assert_eq!(Sensitivity::histogram(AddRemove).one_coordinate(), Some(1.0));
    assert_eq!(Sensitivity::histogram(Replace).one_coordinate(), None);
    let elements = Sensitivity::per_element(&[0.0, 1.0], AddRemove)
        .and_then(|s| s.under_replace())
        .expect("valid");
    assert_eq!(
        (elements.elements(), elements.one_coordinate()),
        (Some(&[0.0, 2.0][..]), Some(2.0))
    );
    assert_eq!(
        Sensitivity::per_element(&[1.0, 1.0], AddRemove).map(|s| s.one_coordinate()),
        Ok(None)
    );
}

#[test]
fn rounding_to_a_lattice_is_paid_for_by_every_coordinate_that_can_move() {
    let quarters = Lattice::of_spacing_power(-2).expect("valid");
    let rounded = |sensitivity: Result<Sensitivity, MechanismError>| {
        sensitivity.and_then(|s| s.rounded_to(quarters)).expect("valid")
    };
    assert_eq!(rounded(Sensitivity::scalar(1.1, AddRemove)).l1(), Ok(1.25));
    assert_eq!(rounded(Sensitivity::per_element(&[1.1, 0.25], AddRemove)).l1(), Ok(1.5));
    assert_eq!(rounded(Sensitivity::disjoint(1.1, Replace)).l1(), Ok(2.5));
    let l1 = Sensitivity::l1_bound(1.0, AddRemove).expect("valid");
    assert!(l1.rounded_to(quarters).is_err(), "the number of coordinates is not known");
    assert_eq!(l1.clone().of_integers().rounded_to(quarters).and_then(|s| s.l1()), Ok(1.0));
    assert_eq!(rounded(l1.clone().with_coordinates(1)).l1(), Ok(1.0));
    // Four coordinates that move by 1/4 each can stay exact, but 0.05, 0.05 and 0.9 become
    // 0.25, 0.25 and 1.
    assert_eq!(rounded(l1.with_coordinates(3)).l1(), Ok(1.5));
    let moved: f64 = [0.05f64, 0.05, 0.9].iter().map(|d| (d / 0.25).ceil() * 0.25).sum();
    assert_eq!(moved, 1.5);
    let l2 = rounded(Sensitivity::l2_bound(1.0, AddRemove).and_then(|s| s.with_coordinates(4)));
    assert!((1.5..1.500_000_000_001).contains(&l2.l2().expect("valid")));
}

#[test]
fn discrete_noise_asks_for_whole_sensitivities() {
    assert_eq!(Sensitivity::histogram(Replace).whole_l1(), Ok(2));
    assert_eq!(Sensitivity::per_element(&[3.0, 4.0], AddRemove).and_then(|s| s.whole_l1()), Ok(7));
    for fractional in [0.5, 1.5, 1e17] {
        assert!(
            Sensitivity::scalar(fractional, AddRemove).and_then(|s| s.whole_l1()).is_err(),
            "{fractional}"
        );
    }
}

#[test]
fn what_cannot_be_a_sensitivity_is_refused() {
    for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e308, 1e-320] {
        assert!(Sensitivity::scalar(bad, AddRemove).is_err(), "{bad}");
        assert!(
            Sensitivity::norm(2.0, bad, AddRemove).is_err()
                && Sensitivity::disjoint(bad, Replace).is_err()
        );
        assert!(bad == 0.0 || Sensitivity::per_element(&[1.0, bad], AddRemove).is_err(), "{bad}");
        assert!(Sensitivity::ranges(&[(0.0, bad)], AddRemove).is_err(), "{bad}");
    }
    for bad in [f64::NAN, 0.0, -2.0, f64::NEG_INFINITY, 1e-3] {
        assert!(
            Sensitivity::norm(bad, 1.0, AddRemove).is_err()
                && Sensitivity::histogram(AddRemove).order(bad).is_err()
        );
    }
    assert!(
        Sensitivity::per_element(&[], AddRemove).is_err()
            && Sensitivity::per_element(&[0.0], AddRemove).is_err()
    );
    assert!(Sensitivity::l1_bound(1.0, AddRemove).and_then(|s| s.with_coordinates(0)).is_err());
    assert!(
        Sensitivity::per_element(&[1e99; 3], AddRemove).and_then(|s| s.order(0.1)).is_err(),
        "beyond every distance"
    );
}

#[test]
fn a_box_and_a_norm_together_are_the_less_of_the_two() {
    let boxed = Sensitivity::per_element(&[3.0, 4.0, 0.0], AddRemove).expect("valid");
    let known = boxed.clone().with_norm(2.0, 4.5).expect("valid");
    assert_eq!((known.l2(), boxed.l2()), (Ok(4.5), Ok(5.0)));
    // The l1 norm of two numbers within an l2 ball, and of the box: 4.5 sqrt(2) < 7.
    assert!((known.l1().expect("valid") / (4.5 * 2f64.sqrt()) - 1.0).abs() < 1e-14);
    assert_eq!(known.order(f64::INFINITY), Ok(4.0));
    assert_eq!(known.under_replace().and_then(|twice| twice.l2()), Ok(9.0));
    let quarters = Lattice::of_spacing_power(-2).expect("valid");
    let rounded = known.rounded_to(quarters).and_then(|rounded| rounded.l2()).expect("valid");
    assert!((rounded - (4.5 + 0.25 * 2f64.sqrt())).abs() < 1e-12, "{rounded}");
    assert_eq!(known.coordinates(), Some(3));
    let moves = known.moves(3).expect("three numbers");
    let ball = Some(Ball { order: 2.0, bound: 4.5 });
    assert_eq!(moves, Moves::All { most: vec![3.0, 4.0, 0.0], ball });
    assert!(known.moves(2).is_err());
    // A ball that holds the box is forgotten; one number is its own norm.
    let wide = boxed.clone().with_norm(2.0, 5.0).expect("valid");
    assert_eq!(wide.moves(3), Ok(Moves::All { most: vec![3.0, 4.0, 0.0], ball: None }));
    let one = Sensitivity::per_element(&[0.0, 4.0], AddRemove).and_then(|s| s.with_norm(1.0, 3.0));
    assert_eq!(one.map(|one| one.one_coordinate()), Ok(Some(3.0)));
    let l2 = Sensitivity::l2_bound(1.0, AddRemove).expect("valid");
    assert_eq!(l2.moves(2).expect("any number").of_coordinate(1), 1.0);
    assert!(l2.with_coordinates(3).expect("valid").moves(2).is_err());
    assert_eq!(Sensitivity::histogram(Replace).moves(5), Ok(Moves::Two(1.0)));
    assert_eq!(Sensitivity::histogram(Replace).moving_elements(), Some(vec![1.0, 1.0]));
}
