//! Oracles that nobody here wrote: SystemDS, R, `SciPy` on real matrices, and reference data of the NIST. `./x test
//! --long` installs and asks them.

#[path = "oracles/blocks.rs"]
mod blocks;
#[path = "oracles/calls.rs"]
mod calls;
#[path = "oracles/compare.rs"]
mod compare;
#[path = "oracles/environment.rs"]
mod environment;
#[path = "oracles/library.rs"]
mod library;
#[path = "support/long.rs"]
mod long;
#[path = "oracles/nist.rs"]
mod nist;
#[path = "oracles/peer.rs"]
mod peer;
#[path = "oracles/r.rs"]
mod r;
#[path = "oracles/r_templates.rs"]
mod r_templates;
#[path = "oracles/real.rs"]
mod real;
#[path = "oracles/templates.rs"]
mod templates;
#[path = "oracles/values.rs"]
mod values;
