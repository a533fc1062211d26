//! Reachability, cut sets and regions.
