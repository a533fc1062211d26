use fuseline_ir::cplan::parse;
use fuseline_llvm_backend::{LlvmBackend, LlvmOptions};
use fuseline_skeletons::backend::Backend;
fn main() {
    let file = std::env::args().nth(1).unwrap();
    let plan = parse(&std::fs::read_to_string(file).unwrap()).unwrap().verify().unwrap();
    let b = LlvmBackend::new(LlvmOptions { keep_ir: true, keep_asm: true, ..Default::default() }).unwrap();
    let c = b.compile(&plan).unwrap();
    println!("{}", c.info.llvm_ir.unwrap());
    eprintln!("{}", c.info.assembly.unwrap());
}
