//! Fuseline's code generator: CPlans to LLVM IR to machine code in memory.
