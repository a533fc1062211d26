//! Sizes of memory on the command line.

/// A size such as `512m` or `16g`, in bytes.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    bytes_of(text).ok_or_else(|| "a size is a number of bytes, or of k, m, g or t such as 512m or 16g".to_owned())
}

/// Bytes that a text such as `512m`, `16G` or `100000` stands for; units are powers of 1024.
fn bytes_of(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        _ => return None,
    };
    let bytes = digits.trim().parse::<u64>().ok()?.checked_mul(1024_u64.pow(power))?;
    (bytes > 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_numbers_with_units() {
        let sizes = ["1", "512m", "16G", "2 KiB", "3tb"].map(bytes_of);
        assert_eq!(sizes, [Some(1), Some(512 << 20), Some(16 << 30), Some(2048), Some(3 << 40)]);
        for wrong in ["", "0", "m", "-1g", "1.5g", "1x", "99999999999g"] {
            assert_eq!(bytes_of(wrong), None, "{wrong}");
        }
    }
}
