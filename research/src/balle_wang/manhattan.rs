//! Manhattan's junctions, its roads, and pick-ups and drop-offs at its junctions, from the user's
//! files.

use crate::{ReproductionError, data};
use reticent_denoising::graph::Graph;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The hour of the taxi file: shortly after midnight on a Saturday.
const TAXI_HOUR: &str = "2015-01-10T00";
/// A place further than that from every junction, in metres, is off the graph.
const NEAR: f64 = 150.0;
/// The deviation of the kernel, in metres, and how far it reaches. The paper refers to Doraiswamy
/// and others (2014) for its kernel and does not say which; this one is our own.
const KERNEL: f64 = 100.0;
const REACH: f64 = 300.0;
/// The avenues run so many degrees east of north.
const AVENUES: f64 = 29.0;

/// What a trip is counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    PickUp,
    DropOff,
}

/// How a trip is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spreading {
    /// As one at the nearest junction.
    Nearest,
    /// As one in all, over the junctions near it, by a Gaussian kernel. A trip still moves the
    /// counts by a vector of l1 norm 1, so of l2 norm at most 1: five of them by at most 5.
    Kernel,
}

/// The street graph with the places of its junctions.
#[derive(Debug)]
pub(super) struct Streets {
    pub(super) graph: Graph,
    /// Metres east and north of a corner.
    pub(super) places: Vec<(f64, f64)>,
    pub(super) roads: Vec<(usize, usize)>,
    /// The junctions in each square of `REACH` metres.
    squares: HashMap<(i64, i64), Vec<usize>>,
}

fn square((east, north): (f64, f64)) -> (i64, i64) {
    ((east / REACH).floor() as i64, (north / REACH).floor() as i64)
}

/// Metres, near Manhattan: a degree of latitude is 111.2 km, and one of longitude
/// `cos(40.75 degrees)` of that.
fn in_metres(latitude: f64, longitude: f64) -> (f64, f64) {
    (111_195.0 * 40.75f64.to_radians().cos() * longitude, 111_195.0 * latitude)
}

fn number<T: std::str::FromStr>(cell: &str, what: &str) -> Result<T, String> {
    cell.parse().map_err(|_| format!("`{cell}` is no {what}"))
}

impl Streets {
    /// Reads `manhattan_roads/m4091_nodes.csv` and `m4091_edges.csv`.
    pub(super) fn read(folder: &Path) -> Result<Self, ReproductionError> {
        let folder = folder.join("manhattan_roads");
        let mut places = Vec::new();
        data::open(&folder.join("m4091_nodes.csv"))?.each(&["node_id", "lat", "lon"], |cells| {
            let (latitude, longitude): (f64, f64) =
                (number(cells[1], "latitude")?, number(cells[2], "longitude")?);
            if !(latitude.abs() <= 90.0 && longitude.abs() <= 180.0) {
                return Err("the place is not on earth".into());
            }
            places.push(in_metres(latitude, longitude));
            if number::<usize>(cells[0], "number")? == places.len() {
                Ok(())
            } else {
                Err("junctions are not numbered 1, 2, ...".into())
            }
        })?;
        let mut roads = Vec::new();
        let known = |cell: &str| match number::<usize>(cell, "junction")? {
            junction if (1..=places.len()).contains(&junction) => Ok(junction - 1),
            junction => Err(format!("there is no junction {junction}")),
        };
        data::open(&folder.join("m4091_edges.csv"))?.each(&["source", "target"], |cells| {
            roads.push((known(cells[0])?, known(cells[1])?));
            Ok(())
        })?;
        let mut squares: HashMap<_, Vec<usize>> = HashMap::new();
        for (junction, place) in places.iter().enumerate() {
            squares.entry(square(*place)).or_default().push(junction);
        }
        let graph = Graph::new(places.len(), roads.iter().copied())?;
        Ok(Streets { graph, places, roads, squares })
    }

    /// The places turned so that the avenues run upwards, for a map that is narrow.
    pub(super) fn upright(&self) -> Vec<(f64, f64)> {
        let (sine, cosine) = AVENUES.to_radians().sin_cos();
        let turned = |(east, north): &(f64, f64)| {
            (cosine * east - sine * north, sine * east + cosine * north)
        };
        self.places.iter().map(turned).collect()
    }

    /// The junctions within `REACH` metres of a place, with their distances.
    fn around(&self, place: (f64, f64)) -> Vec<(usize, f64)> {
        let (column, row) = square(place);
        let mut near = Vec::new();
        for east in column - 1..=column + 1 {
            for north in row - 1..=row + 1 {
                for junction in self.squares.get(&(east, north)).into_iter().flatten() {
                    let there = self.places[*junction];
                    let distance = (place.0 - there.0).hypot(place.1 - there.1);
                    if distance <= REACH {
                        near.push((*junction, distance));
                    }
                }
            }
        }
        near
    }

    /// The taxis' trips that began, or ended, in one hour, from `nyc_taxi_coords`, at the
    /// junctions. Trips off the graph are left out.
    pub(super) fn taxi_hour(
        &self,
        folder: &Path,
        end: End,
        spreading: Spreading,
    ) -> Result<Vec<f64>, ReproductionError> {
        let path = folder.join("nyc_taxi_coords").join("yellow_2015-01-10_one_hour.csv.gz");
        let columns = match end {
            End::PickUp => ["pickup", "pickup_lat", "pickup_lon"],
            End::DropOff => ["dropoff", "dropoff_lat", "dropoff_lon"],
        };
        let mut counts = vec![0.0; self.places.len()];
        data::open(&path)?.each(&columns, |cells| {
            if !cells[0].starts_with(TAXI_HOUR) {
                return Ok(());
            }
            let (latitude, longitude) =
                (number(cells[1], "latitude")?, number(cells[2], "longitude")?);
            let near = self.around(in_metres(latitude, longitude));
            let nearest = near.iter().min_by(|a, b| a.1.total_cmp(&b.1));
            let Some((junction, _)) = nearest.filter(|(_, distance)| *distance <= NEAR) else {
                return Ok(());
            };
            match spreading {
                Spreading::Nearest => counts[*junction] += 1.0,
                Spreading::Kernel => {
                    let weight = |distance: f64| (-0.5 * (distance / KERNEL).powi(2)).exp();
                    let sum: f64 = near.iter().map(|(_, distance)| weight(*distance)).sum();
                    for (junction, distance) in &near {
                        counts[*junction] += weight(*distance) / sum;
                    }
                }
            }
            Ok(())
        })?;
        Ok(counts)
    }

    /// The pick-ups of a hired-car company in some hours, such as `2014-06-25T18`, from
    /// `nyc_uber_2014`.
    pub(super) fn company_hours(
        &self,
        folder: &Path,
        hours: &[&'static str],
    ) -> Result<BTreeMap<&'static str, Vec<f64>>, ReproductionError> {
        let path: PathBuf = folder.join("nyc_uber_2014").join("hourly_by_junction_m4091.csv.gz");
        let mut counts: BTreeMap<_, _> =
            hours.iter().map(|hour| (*hour, vec![0.0; self.places.len()])).collect();
        data::open(&path)?.each(&["hour", "node_id", "count"], |cells| {
            match counts.get_mut(cells[0]) {
                Some(counts) => self.add(counts, cells[1], data::count(cells[2])?),
                None => Ok(()),
            }
        })?;
        Ok(counts)
    }

    /// Adds to the count at a junction; junction 0 stands for places that are not on the graph.
    fn add(&self, counts: &mut [f64], cell: &str, count: f64) -> Result<(), String> {
        let junction = number::<usize>(cell, "junction")?;
        if junction > counts.len() {
            return Err(format!("there is no junction {junction}"));
        }
        if junction > 0 {
            counts[junction - 1] += count;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::data::tests::Folder;

    /// A town of 20 by 20 junctions with a busy quarter, in the layout of the data.
    pub(crate) fn town(name: &str, hours: &[&str]) -> Folder {
        let folder = Folder::new(&format!("town-{name}"));
        let (mut nodes, mut edges) =
            ("node_id,lat,lon\n".to_string(), "source,target\n".to_string());
        // Two that do not count: of the next hour, and off the graph.
        let mut trips = "pickup,pickup_lat,pickup_lon,dropoff,dropoff_lat,dropoff_lon\n\
            2015-01-10T01:00:00,40.7,-74,2015-01-10T01:10:00,40.7,-74\n\
            2015-01-10T00:00:00,0,0,2015-01-10T00:10:00,0,0\n"
            .to_string();
        let mut hourly = "hour,node_id,count\n".to_string();
        for row in 0..20 {
            for column in 0..20 {
                let id = 20 * row + column + 1;
                let (latitude, longitude) =
                    (40.7 + 0.001 * f64::from(row), -74.0 + 0.001 * f64::from(column));
                nodes.push_str(&format!("{id},{latitude},{longitude}\n"));
                if column > 0 {
                    edges.push_str(&format!("{},{id}\n", id - 1));
                }
                if row > 0 {
                    edges.push_str(&format!("{},{id}\n", id - 20));
                }
                let busy = row < 10 && column < 10;
                for _ in 0..if busy { 60 } else { 2 } {
                    // Everybody goes to where others go from: the drop-offs are the pick-ups.
                    trips.push_str(&format!(
                        "2015-01-10T00:30:00,{latitude},{longitude},\
                         2015-01-10T00:40:00,{latitude},{longitude}\n"
                    ));
                }
                for hour in hours {
                    hourly.push_str(&format!("{hour},{id},{}\n", u32::from(busy)));
                }
            }
        }
        folder.file("manhattan_roads/m4091_nodes.csv", &nodes);
        folder.file("manhattan_roads/m4091_edges.csv", &edges);
        folder.file("nyc_taxi_coords/yellow_2015-01-10_one_hour.csv.gz", &trips);
        folder.file("nyc_uber_2014/hourly_by_junction_m4091.csv.gz", &hourly);
        folder
    }

    #[test]
    fn a_town_is_read() {
        let folder = town("read", &["2014-06-25T18"]);
        let streets = Streets::read(&folder.0).expect("readable");
        assert_eq!((streets.graph.node_count(), streets.graph.edge_count()), (400, 760));
        let taxi = |end, spreading| streets.taxi_hour(&folder.0, end, spreading).expect("readable");
        for end in [End::PickUp, End::DropOff] {
            let counts = taxi(end, Spreading::Nearest);
            assert_eq!((counts[0], counts[399]), (60.0, 2.0));
            let smooth = taxi(end, Spreading::Kernel);
            let sum = |counts: &[f64]| counts.iter().sum::<f64>();
            assert!((sum(&smooth) / sum(&counts) - 1.0).abs() < 1e-12, "a trip counts one");
            assert!(smooth[9] < counts[9] && smooth[10] > counts[10], "at the busy edge");
        }
        // Turned, not stretched.
        let (upright, places) = (streets.upright(), &streets.places);
        let apart = |p: &[(f64, f64)]| (p[0].0 - p[399].0).hypot(p[0].1 - p[399].1);
        assert!((apart(&upright) / apart(places) - 1.0).abs() < 1e-9);
        let hours = streets
            .company_hours(&folder.0, &["2014-06-25T18", "2014-06-25T19"])
            .expect("readable");
        assert_eq!((hours["2014-06-25T18"][0], hours["2014-06-25T19"][0]), (1.0, 0.0));
    }

    #[test]
    fn malformed_maps_are_refused() {
        let folder = town("malformed", &[]);
        folder.file("manhattan_roads/m4091_edges.csv", "source,target\n1,401\n");
        let error = Streets::read(&folder.0).expect_err("refused").to_string();
        assert!(error.contains("no junction 401") && error.contains("line 2"), "{error}");
        folder.file("manhattan_roads/m4091_nodes.csv", "node_id,lat,lon\n1,nan,0\n");
        assert!(Streets::read(&folder.0).is_err());
    }
}
