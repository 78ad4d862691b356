//! The experiments by name.

use crate::{Finding, Paper, ReproductionError, Setting, Table};
use crate::{balle_wang, lecture, liu, r2dp, zhao};
use reticent_figures::{Figure, Map};

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Picture {
    /// Charts.
    Figure(Figure),
    /// Maps.
    Map(Map),
}

impl Picture {
    /// The picture as text.
    pub fn svg(&self) -> String {
        match self {
            Picture::Figure(figure) => figure.svg(),
            Picture::Map(map) => map.svg(),
        }
    }
}

/// What an experiment gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The paper's statements beside what comes out here.
    pub findings: Vec<Finding>,
    /// Figures, by the names of their files without endings.
    pub pictures: Vec<(&'static str, Picture)>,
    /// All numbers.
    pub tables: Vec<Table>,
}

/// One experiment of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// The name by which it is asked for.
    pub name: &'static str,
    /// Where it comes from.
    pub paper: Paper,
    /// What it is, with the number of the figure.
    pub title: &'static str,
    /// The folders of the data that it reads, or none.
    pub reads: Option<&'static str>,
    run: fn(&Setting) -> Result<Outcome, ReproductionError>,
}

/// Shorthand for the list below.
const fn experiment(
    name: &'static str,
    paper: Paper,
    title: &'static str,
    run: fn(&Setting) -> Result<Outcome, ReproductionError>,
) -> Experiment {
    Experiment { name, paper, title, reads: None, run }
}

impl Experiment {
    /// All experiments, paper by paper.
    pub const ALL: [Experiment; 21] = [
        experiment(liu::densities::NAME, Paper::Liu, "Figure 1: densities", liu::densities::run),
        experiment(
            liu::scales::NAME,
            Paper::Liu,
            "Figure 2: scales for three queries at once",
            liu::scales::run,
        ),
        experiment(
            liu::bounds::NAME,
            Paper::Liu,
            "Figure 3: the bounds for probabilistic and approximate privacy",
            liu::bounds::run,
        ),
        experiment(
            liu::tails::NAME,
            Paper::Liu,
            "Figures 4 and 5: tails of Laplace and Gaussian noise, and what they cost",
            liu::tails::run,
        ),
        experiment(
            liu::tables::MILDEW,
            Paper::Liu,
            "Figures 6 and 7: the mildew table",
            liu::tables::mildew,
        ),
        experiment(
            liu::tables::CZECH,
            Paper::Liu,
            "Figures 8 and 9: the Czech table",
            liu::tables::czech,
        ),
        Experiment {
            reads: Some("adult"),
            ..experiment(
                liu::adult::NAME,
                Paper::Liu,
                "Figures 10 and 11: the Adult histogram",
                liu::adult::run,
            )
        },
        Experiment {
            reads: Some("adult"),
            ..experiment(
                liu::prediction::NAME,
                Paper::Liu,
                "Figure 12: support vector machines on sanitised data",
                liu::prediction::run,
            )
        },
        experiment(
            r2dp::usefulness::NAME,
            Paper::Mohammady,
            "Figure 1: usefulness over epsilon and error bounds",
            r2dp::usefulness::run,
        ),
        experiment(
            r2dp::small_epsilon::NAME,
            Paper::Mohammady,
            "Figure 2: small epsilon",
            r2dp::small_epsilon::run,
        ),
        experiment(
            r2dp::counting::NAME,
            Paper::Mohammady,
            "Figure 3: counting queries",
            r2dp::counting::run,
        ),
        experiment(
            r2dp::gaussian::NAME,
            Paper::Mohammady,
            "Case II: Gaussian noise of random scale",
            r2dp::gaussian::run,
        ),
        experiment(
            zhao::classical::NAME,
            Paper::Zhao,
            "Where the classical Gaussian mechanisms fail",
            zhao::classical::run,
        ),
        experiment(
            zhao::closed_forms::NAME,
            Paper::Zhao,
            "The closed forms against the optimum",
            zhao::closed_forms::run,
        ),
        experiment(
            balle_wang::calibration::NAME,
            Paper::BalleWang,
            "Figure 1, left: analytic and classical calibration",
            balle_wang::calibration::run,
        ),
        experiment(
            balle_wang::mean_estimation::NAME,
            Paper::BalleWang,
            "Figure 1, right: private means in many dimensions",
            balle_wang::mean_estimation::run,
        ),
        experiment(
            balle_wang::histogram::NAME,
            Paper::BalleWang,
            "Appendix B: histogram release",
            balle_wang::histogram::run,
        ),
        Experiment {
            reads: Some("manhattan_roads, nyc_taxi_coords and nyc_uber_2014"),
            ..experiment(
                balle_wang::heat_maps::NAME,
                Paper::BalleWang,
                "Figure 2 and Appendix B: heat maps of Manhattan",
                balle_wang::heat_maps::run,
            )
        },
        experiment(
            lecture::densities::NAME,
            Paper::Lecture,
            "Figures 1 to 3: densities",
            lecture::densities::run,
        ),
        experiment(
            lecture::counting::NAME,
            Paper::Lecture,
            "Section 5: the error of k counting queries",
            lecture::counting::run,
        ),
        experiment(
            lecture::weights::NAME,
            Paper::Lecture,
            "Section 5: private multiplicative weights",
            lecture::weights::run,
        ),
    ];

    /// The experiment of that name.
    ///
    /// # Errors
    /// If there is none; the message lists all names.
    pub fn named(name: &str) -> Result<Experiment, ReproductionError> {
        Experiment::ALL.into_iter().find(|experiment| experiment.name == name).ok_or_else(|| {
            let known: Vec<_> = Experiment::ALL.iter().map(|experiment| experiment.name).collect();
            ReproductionError::UnknownExperiment { name: name.into(), known: known.join(", ") }
        })
    }

    /// Whether the data that it reads, if any, were given.
    ///
    /// # Errors
    /// If they were not.
    pub fn has_data(&self, setting: &Setting) -> Result<(), ReproductionError> {
        match self.reads {
            Some(folder) if setting.data().is_none() => {
                Err(ReproductionError::NoData { experiment: self.name, folder })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// If it reads data that were not given or are not as expected, or a figure could not be
    /// computed.
    pub fn run(&self, setting: &Setting) -> Result<Outcome, ReproductionError> {
        self.has_data(setting)?;
        (self.run)(setting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::NAME_BYTES;

    #[test]
    fn names_are_distinct_and_fit_into_a_key() {
        for (index, experiment) in Experiment::ALL.iter().enumerate() {
            assert!(experiment.name.len() <= NAME_BYTES, "{}", experiment.name);
            assert!(Experiment::ALL[index + 1..].iter().all(|other| other.name != experiment.name));
            assert_eq!(Experiment::named(experiment.name).expect("known").title, experiment.title);
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        let error = Experiment::named("figure-1").expect_err("no such name").to_string();
        assert!(
            error.contains("`figure-1`")
                && error.contains("liu-densities")
                && error.contains("lecture-counting"),
            "{error}"
        );
        let adult = Experiment::named("liu-adult").expect("known");
        let error = adult.run(&Setting::new(1)).expect_err("no data").to_string();
        assert!(error.contains("`adult`") && error.contains("--data"), "{error}");
    }
}
