//! Fuzzes [`fuseline_fuzz::entries::blocks`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuseline_fuzz::entries::blocks(bytes));
