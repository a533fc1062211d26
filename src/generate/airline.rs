//! Look-alikes of the Airline data: one flight per row, in 29 columns of few distinct integers.
//!
//! Columns depend on each other as in the data: the route decides the distance, the distance the time in the air, delays
//! add up, and a late arrival is split by its causes. Cancellations and causes of delays are mostly zero, which makes
//! for the density of 0.73.

use super::Shape;
use super::blocks::{Purpose, dense, generator};
use fuseline_kernels::random::{exponential, normal};
use fuseline_matrix::{Dense, MatrixBlock};
use rand::RngExt;
use rand_distr::Distribution;
use rand_distr::weighted::WeightedAliasIndex;
use rand_pcg::Pcg64Mcg;

/// Columns of the data, in its order.
pub(super) const COLUMNS: [&str; 29] = [
    "Year",
    "Month",
    "DayofMonth",
    "DayOfWeek",
    "DepTime",
    "CRSDepTime",
    "ArrTime",
    "CRSArrTime",
    "UniqueCarrier",
    "FlightNum",
    "TailNum",
    "ActualElapsedTime",
    "CRSElapsedTime",
    "AirTime",
    "ArrDelay",
    "DepDelay",
    "Origin",
    "Dest",
    "Distance",
    "TaxiIn",
    "TaxiOut",
    "Cancelled",
    "CancellationCode",
    "Diverted",
    "CarrierDelay",
    "WeatherDelay",
    "NASDelay",
    "SecurityDelay",
    "LateAircraftDelay",
];

/// Causes of delays, with their shares, in the order of the last columns.
const CAUSES: [f64; 5] = [0.33, 0.04, 0.36, 0.005, 0.265];

const AIRPORTS: usize = 310;
const ROUTES: usize = 5000;
const CARRIERS: usize = 20;
/// Aircraft of each carrier.
const FLEET: usize = 270;
const FLIGHT_NUMBERS: usize = 7500;

/// Minutes from which an arrival is late.
const LATE: f64 = 15.0;
const DAY: f64 = 1440.0;

struct Route {
    origin: usize,
    destination: usize,
    carrier: usize,
    /// Miles.
    distance: f64,
}

/// Flights, and whether the next flight of the same aircraft was late: 2 if so, else 1.
pub(super) fn flights(shape: &Shape, seed: u64) -> (MatrixBlock, Dense) {
    let routes = routes(&mut generator(seed, Purpose::Model, 0));
    let popularity = (0..ROUTES).map(|rank| 1.0 / (rank as f64 + 20.0)).collect();
    let popular = WeightedAliasIndex::new(popularity).expect("weights are positive, and there are routes");
    let (matrix, labels) = dense(shape.rows, COLUMNS.len(), seed, |generator, _, cells, labels| {
        for (row, label) in cells.chunks_exact_mut(COLUMNS.len()).zip(labels) {
            let number = popular.sample(generator);
            let flight = Flight::random(generator, &routes[number]);
            row.copy_from_slice(&flight.cells(generator, &routes[number], number));
            let next_delay = flight.arrival_delay() + 20.0 * normal(generator);
            *label = if next_delay > LATE { 2.0 } else { 1.0 };
        }
    });
    (matrix.into(), labels)
}

fn routes(model: &mut Pcg64Mcg) -> Vec<Route> {
    let places: Vec<(f64, f64)> =
        (0..AIRPORTS).map(|_| (2500.0 * model.random::<f64>(), 1200.0 * model.random::<f64>())).collect();
    // A square favours the first airports, as hubs are favoured.
    let mut airport = || {
        let place = model.random::<f64>();
        (AIRPORTS as f64 * (place * place)) as usize
    };
    let mut route = |number: usize| {
        let origin = airport();
        let destination = (origin + 1 + airport() % (AIRPORTS - 1)) % AIRPORTS;
        let (from, to) = (places[origin], places[destination]);
        let (east, north) = (from.0 - to.0, from.1 - to.1);
        let distance = (east * east + north * north).sqrt().round().max(30.0);
        Route { origin, destination, carrier: number % CARRIERS, distance }
    };
    (0..ROUTES).map(&mut route).collect()
}

/// Minutes of the day as the data writes times: 1 to 2400, hours before minutes.
fn clock(minutes: f64) -> f64 {
    let minutes = minutes.rem_euclid(DAY);
    let time = (minutes / 60.0).floor() * 100.0 + minutes.rem_euclid(60.0);
    if time == 0.0 { 2400.0 } else { time }
}

/// What happened; times are in minutes.
struct Flight {
    scheduled_departure: f64,
    scheduled_time: f64,
    departure_delay: f64,
    taxi_out: f64,
    air_time: f64,
    taxi_in: f64,
    is_cancelled: bool,
    is_diverted: bool,
}

impl Flight {
    fn random(generator: &mut Pcg64Mcg, route: &Route) -> Self {
        let delay = if generator.random::<f64>() < 0.62 {
            -(4.0 * exponential(generator)).floor().min(30.0)
        } else {
            (26.0 * exponential(generator)).ceil()
        };
        let taxi_out = 8.0 + (8.0 * exponential(generator)).floor();
        let taxi_in = 3.0 + (4.0 * exponential(generator)).floor();
        let in_air = (18.0 + route.distance / 7.6).round();
        Flight {
            scheduled_departure: 300.0 + 5.0 * (216.0 * generator.random::<f64>()).floor(),
            scheduled_time: in_air + 24.0,
            departure_delay: delay,
            taxi_out,
            air_time: (in_air + 6.0 * normal(generator)).round().max(10.0),
            taxi_in,
            is_cancelled: generator.random::<f64>() < 0.02,
            is_diverted: generator.random::<f64>() < 0.002,
        }
    }

    fn actual_time(&self) -> f64 {
        self.taxi_out + self.air_time + self.taxi_in
    }

    fn arrival_delay(&self) -> f64 {
        self.departure_delay + self.actual_time() - self.scheduled_time
    }

    /// The row of the data; what did not happen is zero.
    fn cells(&self, generator: &mut Pcg64Mcg, route: &Route, number: usize) -> [f64; COLUMNS.len()] {
        let mut cells = [0.0; COLUMNS.len()];
        let departure = self.scheduled_departure + self.departure_delay;
        cells[0] = if generator.random::<f64>() < 0.515 { 2007.0 } else { 2008.0 };
        cells[1] = generator.random_range(1..=12_u32).into();
        cells[2] = generator.random_range(1..=31_u32).into();
        cells[3] = generator.random_range(1..=7_u32).into();
        cells[5] = clock(self.scheduled_departure);
        cells[7] = clock(self.scheduled_departure + self.scheduled_time);
        cells[8] = (route.carrier + 1) as f64;
        cells[9] = ((number * 31 + generator.random_range(0..4)) % FLIGHT_NUMBERS + 1) as f64;
        cells[10] = (route.carrier * FLEET + generator.random_range(1..=FLEET)) as f64;
        cells[12] = self.scheduled_time;
        cells[16] = (route.origin + 1) as f64;
        cells[17] = (route.destination + 1) as f64;
        cells[18] = route.distance;
        if self.is_cancelled {
            cells[21] = 1.0;
            cells[22] = generator.random_range(1..=4_u32).into();
            return cells;
        }
        cells[4] = clock(departure);
        cells[15] = self.departure_delay;
        cells[20] = self.taxi_out;
        if self.is_diverted {
            cells[23] = 1.0;
            return cells;
        }
        cells[6] = clock(departure + self.actual_time());
        cells[11] = self.actual_time();
        cells[13] = self.air_time;
        cells[14] = self.arrival_delay();
        cells[19] = self.taxi_in;
        if self.arrival_delay() >= LATE {
            split(generator, self.arrival_delay(), &mut cells[24..]);
        }
        cells
    }
}

/// Splits minutes of delay between one or two causes.
fn split(generator: &mut Pcg64Mcg, delay: f64, causes: &mut [f64]) {
    let mut cause = || {
        let mut left: f64 = generator.random();
        CAUSES.iter().position(|share| {
            left -= share;
            left < 0.0
        })
    };
    let (first, second) = (cause().unwrap_or(0), cause().unwrap_or(0));
    let of_first = (delay * generator.random::<f64>()).ceil();
    causes[first] += of_first;
    causes[second] += delay - of_first;
}
