//! What reports say of the machine that they were made on.

/// The processor, its threads and the memory, as part of a sentence.
pub(crate) fn description() -> String {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {threads} threads, {}", processor(), memory())
}

fn processor() -> String {
    system_fact("/proc/cpuinfo", "model name").unwrap_or_else(|| "an unknown processor".to_owned())
}

fn memory() -> String {
    let kib = system_fact("/proc/meminfo", "MemTotal").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    kib.map_or_else(|| "unknown memory".to_owned(), |kib| format!("{:.0} GiB of memory", kib / 1048576.0))
}

/// The value of the first line of a file of the system that starts with this key.
fn system_fact(path: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
