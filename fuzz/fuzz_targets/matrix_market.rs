//! Fuzzes [`fuseline_fuzz::entries::matrix_market`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuseline_fuzz::entries::matrix_market(bytes));
