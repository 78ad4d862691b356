//! Events as text: every event is written and read back, and what is wrong is named.
#![allow(clippy::unwrap_used)]

use reticent_events::{Event, InverseScale};

/// A generator of test data (splitmix64).
struct Data(u64);

impl Data {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.bits() % end
    }

    /// Any number but a NaN, which does not equal itself.
    fn real(&mut self) -> f64 {
        let anything = f64::from_bits(self.bits());
        match self.below(4) {
            0 if !anything.is_nan() => anything,
            1 => self.below(1000) as f64 / 8.0,
            2 => [0.0, -0.0, f64::INFINITY, f64::MIN_POSITIVE, f64::MAX][self.below(5) as usize],
            _ => self.below(1 << 53) as f64 * 1e-20,
        }
    }

    fn list<T>(&mut self, mut entry: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| entry(self)).collect()
    }

    fn inverse_scale(&mut self, depth: u32) -> InverseScale {
        let families = InverseScale::NAMES.len() as u64;
        match self.below(if depth == 0 { families - 1 } else { families }) {
            0 => InverseScale::TwoPoint {
                first: self.real(),
                second: self.real(),
                weight: self.real(),
            },
            1 => InverseScale::Gamma { shape: self.real(), theta: self.real() },
            2 => InverseScale::Uniform { lower: self.real(), upper: self.real() },
            3 => InverseScale::TruncatedGaussian {
                mu: self.real(),
                sigma: self.real(),
                lower: self.real(),
                upper: self.real(),
            },
            _ => InverseScale::Combined {
                parts: self.list(|data| (data.real(), data.inverse_scale(depth - 1))),
            },
        }
    }

    /// An event of the mechanism of that index; inside others, any.
    fn event(&mut self, index: usize, depth: u32) -> Event {
        let (a, b, c, d) = (self.real(), self.real(), self.real(), self.real());
        let inner = |data: &mut Data| {
            let names = Event::NAMES.len() as u64;
            // The last three hold events.
            let index = data.below(if depth == 0 { names - 3 } else { names });
            data.event(index as usize, depth.saturating_sub(1))
        };
        match Event::NAMES[index] {
            "laplace" => Event::Laplace { scale: a, sensitivity: b },
            "discrete-laplace" => Event::DiscreteLaplace { scale: a, sensitivity: self.bits() },
            "staircase" => Event::Staircase { epsilon: a, gamma: b, sensitivity: c },
            "truncated-laplace" => {
                Event::TruncatedLaplace { scale: a, support_in_scales: b, sensitivity: c }
            }
            "tabulated" => Event::Tabulated {
                weights: self.list(|data| (data.bits(), data.bits() as u32)),
                sensitivity_steps: self.bits(),
                spacing: a,
            },
            "gaussian" => Event::Gaussian { sigma: a, sensitivity: b },
            "discrete-gaussian" => Event::DiscreteGaussian { sigma: a, sensitivity: self.bits() },
            "generalized-gaussian" => {
                let sensitivities = self.list(Data::real);
                Event::GeneralizedGaussian { order: a, scale: b, sensitivities }
            }
            "truncated-generalized-gaussian" => {
                Event::TruncatedGeneralizedGaussian { order: a, scale: b, range: c, sensitivity: d }
            }
            "inflated-generalized-gaussian" => {
                Event::InflatedGeneralizedGaussian { order: a, scale: b, range: c, sensitivity: d }
            }
            "randomized-response" => {
                Event::RandomizedResponse { epsilon: a, categories: self.bits() }
            }
            "random-scale-laplace" => {
                Event::RandomScaleLaplace { inverse_scale: self.inverse_scale(2), sensitivity: a }
            }
            "random-scale-laplace-vector" => Event::RandomScaleLaplaceVector {
                inverse_scale: self.inverse_scale(2),
                coordinates: self.bits(),
                sensitivity: a,
            },
            "random-scale-gaussian" => Event::RandomScaleGaussian {
                sigmas: self.list(|data| (data.real(), data.real())),
                sensitivity: a,
            },
            "exponential" => Event::Exponential { epsilon: a },
            "permute-and-flip" => Event::PermuteAndFlip { epsilon: a },
            "approximate" => Event::Approximate { epsilon: a, delta: b },
            "zero-concentrated" => Event::ZeroConcentrated { rho: a },
            "poisson-subsampled" => {
                Event::PoissonSubsampled { rate: a, event: Box::new(inner(self)) }
            }
            "composition" => Event::Composition { events: self.list(inner) },
            "repetition" => Event::Repetition { times: self.bits(), event: Box::new(inner(self)) },
            other => unreachable!("no data for {other}"),
        }
    }
}

/// `{:?}` shows the sign of a zero, which `==` does not.
#[test]
fn every_event_is_read_back_as_it_was_written() {
    let mut data = Data(15);
    for (index, name) in Event::NAMES.iter().enumerate() {
        for _ in 0..500 {
            let event = data.event(index, 3);
            let text = event.to_string();
            assert_eq!(event.mechanism(), *name);
            assert!(text.starts_with(name), "{text}");
            let read: Event = text.parse().unwrap();
            assert_eq!(format!("{read:?}"), format!("{event:?}"), "{text}");
        }
    }
    for _ in 0..2000 {
        let inverse_scale = data.inverse_scale(3);
        let read: InverseScale = inverse_scale.to_string().parse().unwrap();
        assert_eq!(format!("{read:?}"), format!("{inverse_scale:?}"));
    }
}

/// The name in the text is the one in the serialised form.
#[test]
fn text_and_json_have_the_same_names() {
    let mut data = Data(16);
    for index in 0..Event::NAMES.len() {
        let event = data.event(index, 0);
        let json = serde_json::to_value(&event).unwrap();
        assert_eq!(json["mechanism"], event.mechanism());
        let text = event.to_string();
        for field in json.as_object().unwrap().keys().filter(|field| *field != "mechanism") {
            assert!(text.contains(&format!(" {field}=")), "{text}: {field}");
        }
    }
}

#[test]
fn an_event_is_read_as_people_write_it() {
    let gaussian = Event::Gaussian { sigma: 10.0, sensitivity: 1.0 };
    assert_eq!("gaussian sigma=10".parse(), Ok(gaussian.clone()));
    let sampled = Event::PoissonSubsampled { rate: 0.01, event: Box::new(gaussian) };
    let expected = Event::Repetition { times: 1000, event: Box::new(sampled) };
    assert_eq!(" gaussian  times=1e3 sigma=10 subsample=0.01 ".parse(), Ok(expected.clone()));
    assert_eq!(
        "repetition event=[gaussian sigma=10 subsample=0.01] times=1000".parse(),
        Ok(expected)
    );
    let part = InverseScale::Gamma { shape: 2.0, theta: 0.5 };
    let inverse_scale = InverseScale::Combined { parts: vec![(2.0, part)] };
    assert_eq!(
        "random-scale-laplace inverse_scale=[combined parts=2:[gamma shape=2 theta=0.5]]".parse(),
        Ok(Event::RandomScaleLaplace { inverse_scale, sensitivity: 1.0 })
    );
    let expected =
        Event::RandomScaleGaussian { sigmas: vec![(1.0, 0.9), (3.0, 0.1)], sensitivity: 1.0 };
    assert_eq!("random-scale-gaussian sigmas=1:0.9,3:0.1".parse(), Ok(expected));
}

#[test]
fn what_is_wrong_is_named_with_what_is_accepted() {
    let deep = format!("{}gaussian sigma=1{}", "repetition event=[".repeat(70), "]".repeat(70));
    for (text, expected) in [
        ("", "the text is empty"),
        ("gauss sigma=1", "there is no mechanism `gauss`; there are laplace, discrete-laplace"),
        ("gaussian", "gaussian: `sigma` is missing"),
        ("gaussian sigma", "gaussian: `sigma` is not of the form parameter=value"),
        (
            "gaussian scale=1",
            "no parameter `scale`; there are sigma, sensitivity, subsample, times",
        ),
        ("gaussian sigma=1 sigma=2", "`sigma` is given twice"),
        ("gaussian sigma=one", "`sigma` is `one`, but it must be a number"),
        ("gaussian sigma=1 times=-3", "`times` is `-3`, but it must be a whole number"),
        ("gaussian sigma=1 times=1.5", "`times` is `1.5`"),
        ("discrete-laplace scale=1 sensitivity=0.5", "`sensitivity` is `0.5`"),
        ("random-scale-laplace inverse_scale=gamma", "it must be a family in square brackets"),
        ("random-scale-laplace inverse_scale=[odd]", "there is no family `odd`; there are two-poi"),
        ("random-scale-laplace inverse_scale=[gamma shape=2 mu=1]", "gamma: there is no parameter"),
        ("random-scale-gaussian sigmas=1,2", "`sigmas` is `1,2`, but it must be pairs such as"),
        ("tabulated weights=1:4294967296", "it must be a whole number from 0 to 4294967295"),
        ("composition events=[gaussian sigma=1", "square brackets"),
        ("composition events=gaussian]", "square brackets"),
        ("repetition times=2 event=[gaussian]", "`event` is `[gaussian]`, but gaussian: `sigma`"),
        (deep.as_str(), "nested more than 64 deep"),
    ] {
        let message = text.parse::<Event>().unwrap_err().to_string();
        assert!(message.contains(expected), "{text}: {message}");
    }
}
