//! What the operating system says of the processor.

use std::fs;

/// Bytes of the caches of level 1, 2 and 3; typical ones where the system does not tell.
pub(super) fn cache_bytes() -> [f64; 3] {
    let typical = [48.0, 1024.0, 16384.0].map(|kibibytes: f64| kibibytes * 1024.0);
    std::array::from_fn(|level| cache(level + 1).unwrap_or(typical[level]))
}

/// The bytes of a stream that stays in a cache of this size.
pub(super) fn streamed_share(cache: f64) -> f64 {
    (cache / 3.0).floor()
}

/// The bytes of a matrix that an operator finds in a cache of this size, beside its other inputs and its output, and what
/// the operators before it have left there.
pub(super) fn usable_share(cache: f64) -> f64 {
    (cache / 8.0).floor()
}

/// The size of the first core's data cache of a level.
fn cache(level: usize) -> Option<f64> {
    let read = |index: usize, name: &str| {
        fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}")).ok()
    };
    (0..8).find_map(|index| {
        let is_level = read(index, "level")?.trim() == level.to_string();
        let holds_data = read(index, "type")?.trim() != "Instruction";
        (is_level && holds_data).then(|| kibibytes(&read(index, "size")?))?
    })
}

/// Bytes of a text such as `48K` or `32M`.
fn kibibytes(text: &str) -> Option<f64> {
    let text = text.trim();
    let units = [('K', 1024.0), ('M', 1024.0 * 1024.0)];
    let (number, factor) = units.iter().find_map(|&(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    Some(number.parse::<f64>().ok()? * factor)
}

/// The name of the processor; empty where the system does not tell.
pub(super) fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map(|(_, name)| name.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_sizes_are_read() {
        assert_eq!(kibibytes("48K\n"), Some(49_152.0));
        assert_eq!(kibibytes("32M"), Some(33_554_432.0));
        assert_eq!([kibibytes(""), kibibytes("K"), kibibytes("12"), kibibytes("é")], [None; 4]);
        assert!(cache_bytes().iter().all(|&bytes| bytes >= 1024.0));
    }
}
