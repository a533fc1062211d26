//! Fuseline's matrices: dense and CSR blocks, and readers and writers of file formats.
