//! The long forms of tests.

/// Whether they are asked for: `FUSELINE_LONG=1`.
pub(crate) fn is_long() -> bool {
    std::env::var("FUSELINE_LONG").is_ok_and(|value| value != "0")
}
