//! Windows over images: what convolution and pooling go through.
//!
//! An image is a row of cells: channel by channel, and within each row by row. Windows lie in the channels of an image,
//! which zeros may surround, at equal distances; each has the same height and width.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// How windows lie in an image. Pairs are of rows and columns.
///
/// Vector primitives take it by address.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Windows {
    /// Channels of an image.
    pub channels: usize,
    /// Height and width of an image.
    pub image: [usize; 2],
    /// Height and width of a window.
    pub window: [usize; 2],
    /// How far windows are apart.
    pub stride: [usize; 2],
    /// How many zeros surround an image on each side.
    pub padding: [usize; 2],
}

impl Windows {
    /// Whether there are windows, and an image and an unfolded one can be addressed.
    pub fn is_valid(&self) -> bool {
        let fit = |axis: usize| {
            let padded = self.padding[axis].checked_mul(2).and_then(|both| both.checked_add(self.image[axis]));
            self.stride[axis] > 0 && (1..=padded.unwrap_or(0)).contains(&self.window[axis])
        };
        fit(0) && fit(1) && {
            let [down, across] = self.count();
            let addressed = |extents: &[usize]| {
                let bytes = extents.iter().try_fold(size_of::<f64>(), |all, &one| all.checked_mul(one.max(1)));
                bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok())
            };
            let ([height, width], [rows, cols]) = (self.image, self.window);
            addressed(&[self.channels, height, width]) && addressed(&[self.channels, rows, cols, down, across])
        }
    }

    /// How many rows and columns of windows a channel has.
    #[inline(always)]
    pub fn count(&self) -> [usize; 2] {
        let along =
            |axis: usize| (self.image[axis] + 2 * self.padding[axis] - self.window[axis]) / self.stride[axis] + 1;
        [along(0), along(1)]
    }

    /// How many windows a channel has.
    pub fn per_channel(&self) -> usize {
        let [rows, cols] = self.count();
        rows * cols
    }

    /// The cells of an image.
    pub fn image_cells(&self) -> usize {
        self.channels * self.image[0] * self.image[1]
    }

    /// The cells of a window, in one channel.
    pub fn window_cells(&self) -> usize {
        self.window[0] * self.window[1]
    }

    /// The cells of a filter: those of a window, in all channels.
    pub fn filter_cells(&self) -> usize {
        self.channels * self.window_cells()
    }

    /// The row of the image that row `offset` of the windows in row `place` covers; none in the padding.
    #[inline(always)]
    pub fn row(&self, place: usize, offset: usize) -> Option<usize> {
        (place * self.stride[0] + offset).checked_sub(self.padding[0]).filter(|row| *row < self.image[0])
    }

    /// The windows of a row whose column `offset` lies within the image, and the column of the image that it is for the
    /// first of them.
    #[inline(always)]
    pub fn inside(&self, offset: usize) -> (Range<usize>, usize) {
        let ([_, count], [_, stride], [_, padding]) = (self.count(), self.stride, self.padding);
        let before = |column: usize| (column + padding).saturating_sub(offset).div_ceil(stride).min(count);
        let (first, end) = (before(0), before(self.image[1]));
        // Where no window lies within the image the column does not matter.
        (first..end, (first * stride + offset).saturating_sub(padding))
    }
}

/// `3x8x8 window=2x2 stride=2x2 padding=0x0`
impl fmt::Display for Windows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([height, width], [rows, cols]) = (self.image, self.window);
        let ([down, across], [above, beside]) = (self.stride, self.padding);
        write!(f, "{}x{height}x{width} window={rows}x{cols} ", self.channels)?;
        write!(f, "stride={down}x{across} padding={above}x{beside}")
    }
}

/// What is computed of the windows of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum WindowOp {
    /// The largest cell of each window; padding does not count.
    MaxPool,
    /// The mean of the cells of each window, of which padding is part.
    AvgPool,
    /// The cells themselves: for each cell of a window, channel by channel, its values in all windows. What a
    /// convolution multiplies its filters with.
    Unfold,
}

impl WindowOp {
    /// All of them.
    pub const ALL: &[WindowOp] = &[WindowOp::MaxPool, WindowOp::AvgPool, WindowOp::Unfold];

    /// The text mnemonic.
    pub fn mnemonic(self) -> &'static str {
        match self {
            WindowOp::MaxPool => "max_pool",
            WindowOp::AvgPool => "avg_pool",
            WindowOp::Unfold => "unfold",
        }
    }

    /// The operation with this mnemonic.
    pub fn from_mnemonic(mnemonic: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.mnemonic() == mnemonic)
    }

    /// How many values are computed of an image.
    pub fn cells(self, windows: &Windows) -> usize {
        let planes = match self {
            WindowOp::MaxPool | WindowOp::AvgPool => windows.channels,
            WindowOp::Unfold => windows.filter_cells(),
        };
        planes * windows.per_channel()
    }
}

impl fmt::Display for WindowOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_lie_within_the_image_where_their_columns_do() {
        for (width, window, stride, padding) in
            (1..6).flat_map(|w| (1..5).flat_map(move |k| (1..4).flat_map(move |s| (0..4).map(move |p| (w, k, s, p)))))
        {
            let windows = Windows {
                channels: 1,
                image: [1, width],
                window: [1, window],
                stride: [1, stride],
                padding: [0, padding],
            };
            assert_eq!(windows.is_valid(), window <= width + 2 * padding);
            if !windows.is_valid() {
                continue;
            }
            for offset in 0..window {
                let column = |place: usize| (place * stride + offset).checked_sub(padding).filter(|&at| at < width);
                let (range, first) = windows.inside(offset);
                for place in 0..windows.per_channel() {
                    let expected = range.contains(&place).then(|| first + (place - range.start) * stride);
                    assert_eq!(column(place), expected, "{windows:?}, {offset}, {place}");
                }
            }
        }
    }

    #[test]
    fn windows_that_do_not_fit_or_cannot_be_addressed_are_invalid() {
        let valid = Windows { channels: 2, image: [4, 4], window: [3, 3], stride: [1, 1], padding: [0, 0] };
        assert!(valid.is_valid());
        for invalid in [
            Windows { window: [5, 3], ..valid },
            Windows { window: [3, 0], ..valid },
            Windows { stride: [1, 0], ..valid },
            Windows { padding: [usize::MAX, 0], ..valid },
            Windows { padding: [1 << 40, 1 << 40], ..valid },
            Windows { image: [1 << 40, 1 << 40], ..valid },
            Windows { image: [1 << 40, 1 << 40], channels: 0, ..valid },
        ] {
            assert!(!invalid.is_valid(), "{invalid:?}");
        }
    }
}
