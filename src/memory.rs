//! The memory of this machine.

use std::fs;

/// Bytes of memory that this process may use: what its container allows, or else what the machine has. Where neither
/// can be told there is no bound.
pub(crate) fn physical_memory() -> u64 {
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let container = limits.iter().filter_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok());
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_of(&text));
    container.chain(machine).min().unwrap_or(u64::MAX)
}

/// Bytes of memory according to a text as `/proc/meminfo` holds it.
fn total_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_memory() {
        assert_eq!(total_of("MemTotal:       16316412 kB\nMemFree: 1 kB\n"), Some(16_316_412 * 1024));
        assert_eq!(total_of("MemFree: 1 kB\n"), None);
        assert!(physical_memory() > 1 << 20);
    }
}
