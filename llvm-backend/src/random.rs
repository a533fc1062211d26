//! Random numbers for LLVM's archives, so that programs with LLVM in them run on older systems.
//!
//! Where LLVM was built against version 2.36 of the GNU C library or a later one, it draws the names of temporary files from
//! that library's `arc4random`. A program that takes the function from there does not start on a system with an older
//! version. This one serves LLVM alone: its symbol is hidden, so nobody else in the process can meet it.

use std::hash::{BuildHasher, RandomState};

/// A number that no two processes should share. Names need no more than that: it must not serve as a secret.
extern "C" fn random_number() -> u32 {
    let hash = RandomState::new().hash_one(0);
    (hash ^ (hash >> 32)) as u32
}

// SAFETY: the symbol is called as `uint32_t arc4random(void)`, which is how the function is defined; the jump leaves the
// registers and the stack as the caller made them.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl arc4random",
    ".hidden arc4random",
    ".type arc4random, @function",
    "arc4random: jmp {random_number}",
    ".size arc4random, . - arc4random",
    random_number = sym random_number,
);

// SAFETY: as above.
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".globl arc4random",
    ".hidden arc4random",
    ".type arc4random, %function",
    "arc4random: b {random_number}",
    ".size arc4random, . - arc4random",
    random_number = sym random_number,
);

#[cfg(test)]
mod tests {
    unsafe extern "C" {
        fn arc4random() -> u32;
    }

    #[test]
    fn the_symbol_gives_other_numbers_each_time() {
        // SAFETY: it takes nothing and may be called at any time.
        let numbers: Vec<u32> = (0..8).map(|_| unsafe { arc4random() }).collect();
        assert!(numbers.windows(2).any(|pair| pair[0] != pair[1]), "{numbers:?}");
    }
}
