//! The table of builtin functions of frames.

use super::{Builtin, Lowering, Parameter, named, optional, required, row};
use crate::hop::FrameFunction;

const fn of_frame(name: &'static str, parameters: &'static [Parameter], function: FrameFunction) -> Builtin {
    row(name, parameters, Lowering::Frame(function))
}

/// Functions of frames.
pub(super) const FRAMES: &[Builtin] = &[
    named(
        "frame",
        &[required("data"), required("rows"), required("cols"), optional("schema")],
        Lowering::Frame(FrameFunction::Make),
    ),
    of_frame("colnames", &[required("target")], FrameFunction::ColumnNames),
    of_frame("map", &[required("target"), required("function"), optional("margin")], FrameFunction::Map),
    named(
        "tokenize",
        &[required("target"), required("spec"), optional("max_tokens")],
        Lowering::Frame(FrameFunction::Tokenize),
    ),
    of_frame("detectSchema", &[required("target")], FrameFunction::DetectSchema),
    of_frame("dropInvalidType", &[required("target"), required("schema")], FrameFunction::DropInvalidType),
    of_frame("dropInvalidLength", &[required("target"), required("lengths")], FrameFunction::DropInvalidLength),
    of_frame("freplicate", &[required("target"), required("row")], FrameFunction::Replicate),
];
