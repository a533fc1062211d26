//! The results of all plans in one file, for a comparison with those of another machine.

use crate::axes::{Formats, Row, SideKind};
use crate::check::{SHAPE, bits};
use crate::data::{Data, Numbers};
use crate::plans::{Form, Plan};
use fuseline_interp::InterpBackend;
use fuseline_ir::work::STRIP_BYTES;
use fuseline_matrix::BufferPool;
use fuseline_skeletons::{Backend, Counters, Execution};
use fuseline_vecprims::{Isa, primitives};
use rayon::ThreadPoolBuilder;
use std::hash::{DefaultHasher, Hasher};
use std::io::Write;

/// Threads of a recording: which results are the same for all numbers of them, other tests see.
const THREADS: usize = 2;

/// The bits of a number, where all zeros are the same: Valgrind (3.19) gives those that remain of a product subtracted from
/// its equal the other sign than processors do.
fn without_sign_of_zero(bits: u64) -> u64 {
    if f64::from_bits(bits) == 0.0 { 0 } else { bits }
}

/// Writes a line for each result of the plans of these variants, with a hash of its bits: on the instruction set that the
/// machine has, and by interpretation, whose results are those of generated code in every bit. Returns how many there are.
pub(crate) fn record(rows: &[Row], out: &mut impl Write) -> usize {
    let backend = InterpBackend::with_isa(Isa::detect());
    let pool = ThreadPoolBuilder::new().num_threads(THREADS).build().expect("threads");
    let (buffers, counters) = (BufferPool::new(1 << 24), Counters::default());
    let execution = Execution {
        pool: &pool,
        buffers: &buffers,
        counters: &counters,
        primitives: primitives(Isa::detect()),
        strict_ieee: false,
        strip_bytes: STRIP_BYTES,
    };
    let mut results = 0;
    for (row, &kind) in rows.iter().flat_map(|row| SideKind::ALL.iter().map(move |kind| (row, kind))) {
        for plan in Form::ALL.iter().filter_map(|&form| Plan::new(row, form, kind)) {
            let compiled = backend.compile(&plan.cplan).expect("it compiles on every machine");
            let formats =
                Formats::all(row.variant.template()).into_iter().filter(|formats| formats.side.kind() == kind);
            for formats in formats {
                let data = Data::new(&plan, SHAPE, formats, Numbers::Reals);
                let result = fuseline_skeletons::execute(&compiled, &data.stored, &data.scalars, &execution);
                let mut hasher = DefaultHasher::new();
                let bits = bits(&result.expect("it runs on every machine"));
                bits.into_iter().for_each(|bits| hasher.write_u64(without_sign_of_zero(bits)));
                writeln!(out, "{:016x} {}, {formats:?}", hasher.finish(), plan.name).expect("the file can be written");
                results += 1;
            }
        }
    }
    results
}
