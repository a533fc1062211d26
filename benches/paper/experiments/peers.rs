//! Other libraries: what `./x bench peers` measured and left in `docs/peers.json`.

use super::findings::Findings;
use super::setting::Setting;
use crate::document::Part;
use serde::Deserialize;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/peers.json");

/// The bounds that wait for it.
const BOUNDS: [(&str, &str); 3] = [
    ("P163", "speed of Gen over a library that compiles loops"),
    ("P164", "speed of Gen over a library for tensors"),
    ("P169", "speed of Gen over PyTorch without its compiler"),
];

/// The file.
#[derive(Deserialize)]
struct Peers {
    /// The sentence that says how it was made.
    made_by: String,
    rows: Vec<Row>,
}

/// One comparison.
#[derive(Deserialize)]
struct Row {
    /// The item of the paper that it is for.
    item: String,
    /// The other library, and how it is used.
    peer: String,
    /// The expression and its data.
    on: String,
    /// How many times as fast Gen is.
    speed: f64,
}

pub(super) fn run(setting: Option<Setting>, findings: &mut Findings) -> Vec<Part> {
    let peers = setting.and_then(|_| read());
    for (item, what) in BOUNDS {
        let rows = || peers.iter().flat_map(|peers| &peers.rows).filter(|row| row.item == item);
        for row in rows() {
            findings.value(item, what, &format!("{}, {}", row.peer, row.on), row.speed);
        }
        if rows().next().is_none() {
            findings.not_run(item, what, "other libraries", "run `./x bench peers`");
        }
    }
    let rows = peers
        .iter()
        .flat_map(|peers| &peers.rows)
        .map(|row| vec![row.item.clone(), row.peer.clone(), row.on.clone(), format!("{:.2}", row.speed)]);
    let made_by = peers.as_ref().map_or("`./x bench peers` was not run.", |peers| &peers.made_by);
    vec![
        Part::heading("Other libraries"),
        Part::text(made_by),
        Part::table(&["item", "library", "on", "speed of Gen over it"], rows.collect()),
    ]
}

fn read() -> Option<Peers> {
    let text = std::fs::read_to_string(FILE).ok()?;
    Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{FILE}: {error}")))
}
