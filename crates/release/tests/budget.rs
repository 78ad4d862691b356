//! Whatever is planned stays within its budget, by the project's own accountants.
#![allow(clippy::unwrap_used, clippy::panic)]

mod error_law;

use reticent_accounting::{
    Accountant, BasicComposition, Composition, Filter, FilterBudget, LossDistribution,
    ZeroConcentratedDp,
};
use reticent_events::Event;
use reticent_mechanisms::{Delta, Epsilon, Notion};
use reticent_noise::randomness::{RandomBits, SeededRandom};
use reticent_release::{
    Contribution, Design, Grid, Groups, NoiseFamily, Preferences, Statistic, plan, plan_with,
};

struct Chance(SeededRandom);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64().unwrap() % bound
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }

    fn statistic(&mut self) -> Statistic {
        let grid =
            Grid::around_midpoint(-3.0, self.one_of(&[0.0, 5.0, 1e6]), self.below(2) == 0).unwrap();
        let max_rows = self.one_of(&[1, 1, 3, 50]);
        match self.below(6) {
            0 | 1 => Statistic::Count { column: None, max_rows },
            2 => Statistic::Units,
            3 => Statistic::Sum { column: 0, grid, contribution: Contribution::Rows(max_rows) },
            4 => Statistic::Sum {
                column: 0,
                grid,
                contribution: Contribution::Total { lower: -5, upper: 70 },
            },
            _ => Statistic::Quantiles {
                column: 0,
                grid,
                max_rows,
                points: vec![0.25, 0.5, 0.9][..1 + self.below(3) as usize].to_vec(),
            },
        }
    }

    fn design(&mut self) -> Design {
        let found = self.below(2) == 0;
        let count = self.below(4) + u64::from(!found);
        Design {
            statistics: (0..count).map(|_| self.statistic()).collect(),
            groups: if found {
                Groups::Found
            } else {
                Groups::Public(self.one_of(&[1, 2, 1000, 1_000_000_000]))
            },
            max_groups: self.one_of(&[1, 2, 5, 40, 1000]),
            epsilon: self.one_of(&[0.05, 0.5, 1.0, 3.0]),
            delta: if found || self.below(2) == 0 {
                Some(self.one_of(&[1e-12, 1e-6, 1e-3]))
            } else {
                None
            },
        }
    }
}

/// Accountants that share nothing with how plans are made find no plan above its budget: what each
/// event keeps, added up, for plans without Gaussian noise, and the loss distribution for some of
/// the others.
#[test]
fn every_plan_is_within_its_budget() {
    let mut chance = Chance(SeededRandom::new(11));
    let (mut added, mut composed, mut selected) = (0, 0, [0, 0]);
    for _ in 0..400 {
        let design = chance.design();
        let plan = plan(&design).unwrap_or_else(|error| panic!("{design:?}: {error}"));
        let guarantee = plan.guarantee();
        assert!(
            guarantee.epsilon <= design.epsilon && guarantee.delta <= design.delta.unwrap_or(0.0),
            "{design:?}"
        );
        let events = plan.events();
        if events.is_empty() {
            continue;
        }
        if let Some(selection) = plan.selection() {
            selected[usize::from(selection.rule == "optimal")] += 1;
        }
        let composition = Composition::new(&events).unwrap();
        let gaussian = events.iter().any(|event| matches!(event, Event::Gaussian { .. }));
        let concentrated = guarantee.delta > plan.delta_for_selection();
        if !gaussian && !concentrated {
            let delta = Delta::new(guarantee.delta.max(1e-300)).unwrap();
            let loss = BasicComposition.epsilon(&composition, delta).unwrap();
            assert!(loss.upper() <= design.epsilon, "{design:?}: {loss:?}");
            added += 1;
        } else if composed < 12 {
            let delta = LossDistribution::default()
                .delta(&composition, Epsilon::new(design.epsilon).unwrap())
                .unwrap();
            // Its bracket has a width.
            assert!(delta.upper() <= guarantee.delta * 1.01, "{design:?}: {delta:?} {guarantee:?}");
            composed += 1;
        }
    }
    assert!(
        added > 100 && composed == 12 && selected.iter().all(|&n| n > 20),
        "{added} {composed} {selected:?}"
    );
}

/// What a filter is charged covers the release: its event with its delta is within the guarantee,
/// and can be charged in zCDP, and in the pure currency where the plan is pure.
#[test]
fn every_plan_can_be_charged() {
    let mut chance = Chance(SeededRandom::new(12));
    for _ in 0..300 {
        let design = chance.design();
        let plan = plan(&design).unwrap();
        let charge = plan.cost();
        assert!(charge.delta >= plan.delta_for_selection());
        assert!(charge.delta <= plan.guarantee().delta, "{design:?}");
        assert_eq!(plan.delta_for_selection() > 0.0, design.groups == Groups::Found, "{design:?}");
        let Some(event) = charge.event else { continue };
        let cost = FilterBudget::ZeroConcentrated { rho: 1.0 }.cost(&event).unwrap();
        assert!(cost > 0.0 && cost.is_finite(), "{design:?}");
        if plan.guarantee().notion == Notion::Pure {
            // Exactly the whole budget, once.
            let mut filter = Filter::new(FilterBudget::Pure { epsilon: design.epsilon }).unwrap();
            filter.admit(&event).unwrap_or_else(|refusal| panic!("{design:?}: {refusal}"));
            assert!(filter.remaining() < 1e-12 * design.epsilon, "budget is left: {design:?}");
        }
    }
}

#[test]
fn gaussian_plans_use_their_delta_up() {
    let design = Design {
        statistics: vec![
            Statistic::Count { column: None, max_rows: 2 },
            Statistic::Units,
            Statistic::Count { column: None, max_rows: 1 },
        ],
        groups: Groups::Public(500),
        max_groups: 20,
        epsilon: 1.0,
        delta: Some(1e-6),
    };
    let plan = plan(&design).unwrap();
    assert!(
        plan.statistics().iter().all(|statistic| statistic.mechanism() == "gaussian"),
        "{}",
        plan.reason()
    );
    let composition = Composition::new(&plan.events()).unwrap();
    let exact =
        reticent_accounting::GaussianDp.delta(&composition, Epsilon::new(1.0).unwrap()).unwrap();
    assert!(exact.upper() <= 1e-6 && exact.lower() > 0.999_999e-6, "{exact:?}");
    // Calibrated by zCDP, as others do, the same budget has more noise: rho at which the conversion
    // gives (1, 1e-6).
    let loose = ZeroConcentratedDp.delta(&composition, Epsilon::new(1.0).unwrap()).unwrap();
    assert!(loose.upper() > 2e-6, "{loose:?}");
}

#[test]
fn weights_move_noise_from_one_statistic_to_another() {
    let design = Design {
        statistics: vec![Statistic::Units, Statistic::Count { column: None, max_rows: 4 }],
        groups: Groups::Public(10),
        max_groups: 2,
        epsilon: 1.0,
        delta: None,
    };
    let weighted = |weights: &[f64]| {
        plan_with(
            &design,
            &Preferences { weights: Some(weights.to_vec()), ..Preferences::default() },
        )
    };
    let (even, uneven) = (plan(&design).unwrap(), weighted(&[8.0, 1.0]).unwrap());
    // Shares of epsilon as the cube roots, 2 : 1.
    assert!(
        (even.statistics()[0].scale().unwrap() / 4.0 - 1.0).abs() < 1e-9
            && (uneven.statistics()[0].scale().unwrap() / 3.0 - 1.0).abs() < 1e-9
    );
    // A third of epsilon for two groups, and the least error that it buys for four rows.
    let count = &uneven.statistics()[1];
    let Some(Event::Repetition { times: 2, event }) = count.event() else { panic!("{count:?}") };
    let Event::Staircase { epsilon, .. } = *event else { panic!("{event:?}") };
    assert!((6.0 * epsilon - 1.0).abs() < 1e-12, "{epsilon}");
    let least = error_law::staircases(4, epsilon).fold(f64::INFINITY, f64::min);
    let deviation = count.standard_deviation().unwrap();
    assert!((deviation / least - 1.0).abs() < 1e-9, "{deviation} {least}");
    for bad in [vec![1.0], vec![1.0, 0.0], vec![f64::NAN, 1.0], vec![1.0, 1e300]] {
        assert!(weighted(&bad).is_err_and(|error| error.to_string().contains("weight")));
    }
}

#[test]
fn a_family_can_be_wished_for() {
    let mut design = Design {
        statistics: vec![Statistic::Units],
        groups: Groups::Public(10),
        max_groups: 1,
        epsilon: 1.0,
        delta: Some(1e-6),
    };
    let of = |design: &Design, noise| {
        plan_with(design, &Preferences { noise, ..Preferences::default() })
    };
    let cost = |noise| {
        let plan = of(&design, noise).unwrap();
        FilterBudget::ZeroConcentrated { rho: 1.0 }.cost(&plan.cost().event.unwrap()).unwrap()
    };
    // What the documentation of the families says of the cost in zCDP.
    assert!((cost(NoiseFamily::Pure) / cost(NoiseFamily::Gaussian) - 16.5).abs() < 0.1);
    assert_eq!(cost(NoiseFamily::LeastError), cost(NoiseFamily::Pure));
    design.max_groups = 10;
    assert_eq!(of(&design, NoiseFamily::Pure).unwrap().guarantee().notion, Notion::Pure);
    assert_eq!(
        of(&design, NoiseFamily::LeastError).unwrap().statistics()[0].mechanism(),
        "gaussian"
    );
    design.delta = None;
    assert!(
        of(&design, NoiseFamily::Gaussian).is_err_and(|error| error.to_string().contains("delta"))
    );
    design.groups = Groups::Found;
    design.delta = Some(1e-6);
    let pure = of(&design, NoiseFamily::Pure).unwrap();
    assert_eq!(
        (pure.statistics()[0].mechanism(), pure.selection().map(|selection| selection.rule)),
        ("discrete-laplace", Some("threshold"))
    );
}
