//! Manhattan's junctions, its roads and the pick-ups at its junctions, from the user's files.

use crate::{ReproductionError, data};
use reticent_denoising::graph::Graph;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The hour of the taxi file: shortly after midnight on a Saturday.
const TAXI_HOUR: &str = "2015-01-10T00";

/// The street graph with the places of its junctions.
#[derive(Debug)]
pub(super) struct Streets {
    pub(super) graph: Graph,
    /// Metres east and north of a corner.
    pub(super) places: Vec<(f64, f64)>,
    pub(super) roads: Vec<(usize, usize)>,
}

/// Metres, near Manhattan: a degree of latitude is 111.2 km, and one of longitude `cos(40.75 degrees)` of that.
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
            let (latitude, longitude): (f64, f64) = (number(cells[1], "latitude")?, number(cells[2], "longitude")?);
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
        Ok(Streets { graph: Graph::new(places.len(), roads.iter().copied())?, places, roads })
    }

    /// The pick-ups of taxis in one hour, from `nyc_taxi_coords`, at each junction.
    pub(super) fn taxi_hour(&self, folder: &Path) -> Result<Vec<f64>, ReproductionError> {
        let path = folder.join("nyc_taxi_coords").join("yellow_2015-01-10_one_hour.csv.gz");
        let mut counts = vec![0.0; self.places.len()];
        data::open(&path)?.each(&["pickup", "node_m4091"], |cells| {
            if cells[0].starts_with(TAXI_HOUR) {
                self.add(&mut counts, cells[1], 1.0)?;
            }
            Ok(())
        })?;
        Ok(counts)
    }

    /// The pick-ups of a hired-car company in some hours, such as `2014-06-25T18`, from `nyc_uber_2014`.
    pub(super) fn company_hours(
        &self,
        folder: &Path,
        hours: &[&'static str],
    ) -> Result<BTreeMap<&'static str, Vec<f64>>, ReproductionError> {
        let path: PathBuf = folder.join("nyc_uber_2014").join("hourly_by_junction_m4091.csv.gz");
        let mut counts: BTreeMap<_, _> = hours.iter().map(|hour| (*hour, vec![0.0; self.places.len()])).collect();
        data::open(&path)?.each(&["hour", "node_id", "count"], |cells| match counts.get_mut(cells[0]) {
            Some(counts) => self.add(counts, cells[1], data::count(cells[2])?),
            None => Ok(()),
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
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    /// A folder that is removed with its content.
    pub(crate) struct Folder(pub(crate) PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    impl Folder {
        fn file(&self, name: &str, text: &str) {
            let path = self.0.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            let file = std::fs::File::create(&path).expect("made");
            if name.ends_with(".gz") {
                let mut packed = GzEncoder::new(file, Compression::fast());
                packed.write_all(text.as_bytes()).expect("written");
                packed.finish().expect("written");
            } else {
                { file }.write_all(text.as_bytes()).expect("written");
            }
        }
    }

    /// A town of 20 by 20 junctions with a busy quarter, in the layout of the data.
    pub(crate) fn town(name: &str, hours: &[&str]) -> Folder {
        let folder = Folder(std::env::temp_dir().join(format!("reticent-town-{name}-{}", std::process::id())));
        let (mut nodes, mut edges) = ("node_id,lat,lon\n".to_string(), "source,target\n".to_string());
        let mut trips = "pickup,node_m4091\n2015-01-10T01:00:00,1\n2015-01-10T00:00:00,0\n".to_string();
        let mut hourly = "hour,node_id,count\n".to_string();
        for row in 0..20 {
            for column in 0..20 {
                let id = 20 * row + column + 1;
                nodes.push_str(&format!(
                    "{id},{},{}\n",
                    40.7 + 0.001 * f64::from(row),
                    -74.0 + 0.001 * f64::from(column)
                ));
                if column > 0 {
                    edges.push_str(&format!("{},{id}\n", id - 1));
                }
                if row > 0 {
                    edges.push_str(&format!("{},{id}\n", id - 20));
                }
                let busy = row < 10 && column < 10;
                for _ in 0..if busy { 60 } else { 2 } {
                    trips.push_str(&format!("2015-01-10T00:30:00,{id}\n"));
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
        let taxi = streets.taxi_hour(&folder.0).expect("readable");
        assert_eq!((taxi[0], taxi[399]), (60.0, 2.0));
        let hours = streets.company_hours(&folder.0, &["2014-06-25T18", "2014-06-25T19"]).expect("readable");
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
