//! Functions of a whole frame: cells that do not look like the others of their column, and predictions of series.

use super::{MapError, cell_text, frame_of};
use fuseline_ir::cell_function::{Smoothing, WholeFrameFunction};
use fuseline_matrix::run_context::check_stop;
use fuseline_matrix::{Collected, Column, Frame, MemoryKind, StopListener, Tally};
use indexmap::IndexMap;

/// What a function gives for a frame.
///
/// # Errors
/// A cell that is no number, or a series that is too short to predict anything from it.
pub(super) fn apply(function: &WholeFrameFunction, frame: &Frame) -> Result<Frame, MapError> {
    let columns = frame.columns().iter().zip(frame.names());
    let columns = match function {
        WholeFrameFunction::SyntacticPatterns { threshold, replacement } => {
            columns.map(|(column, _)| Ok(without_others(column, *threshold, replacement))).collect()
        }
        WholeFrameFunction::MovingAverage { tries, smoothing, season, weights } => {
            let predicted = columns.map(|(column, name)| {
                let series = numbers(column, name)?;
                best_prediction(&series, *smoothing, *season, *weights, *tries)
                    .map(Column::F64)
                    .map_err(|problem| MapError::Shape(format!("`map` cannot predict the column `{name}`: {problem}")))
            });
            predicted.collect::<Result<_, MapError>>()
        }
    };
    Ok(frame_of(columns?)?.with_names_of(frame))
}

/// How coarse patterns may become until one of them holds for enough cells.
const LEVELS: usize = 5;

/// What a missing cell looks like where patterns are counted.
const MISSING: &str = "NULL";

/// A column of texts with `replacement` in the place of those that do not match the pattern of most cells, by the finest
/// patterns of which one holds for more than the threshold. Where none does, the column stays.
fn without_others(column: &Column, threshold: f64, replacement: &str) -> Column {
    let mut texts: Collected<String> = (0..column.len()).map(|row| cell_text(column, row)).collect();
    let stop = StopListener::current();
    for level in 1..=LEVELS {
        let counted = texts.iter().map(|text| {
            stop.check();
            pattern(if text.is_empty() { MISSING } else { text }, level)
        });
        let Some(dominant) = most_frequent(counted, threshold * texts.len() as f64) else { continue };
        texts
            .iter_mut()
            .filter(|text| {
                stop.check();
                pattern(text, level) != dominant
            })
            .for_each(|text| *text = replacement.to_owned());
        break;
    }
    Column::of_texts(texts.into_vec())
}

/// The most frequent text, the first of several, if it occurs more often than this.
fn most_frequent(texts: impl Iterator<Item = String>, least: f64) -> Option<String> {
    let (mut counts, mut held) = (IndexMap::<String, usize>::new(), Tally::new(MemoryKind::Scratch));
    for text in texts {
        held.make_room_in_map(&mut counts);
        let (known, bytes) = (counts.len(), text.len());
        *counts.entry(text).or_insert(0) += 1;
        if counts.len() > known {
            held.add(bytes);
        }
    }
    // Of equals the last one is taken.
    let most = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    most.filter(|(_, count)| *count as f64 > least).map(|(text, _)| text)
}

/// The pattern of a text: its characters by class in runs, with their lengths (level 1); with a sign for each digit of a
/// length (2); letters alike, and any length alike (3); dots within numbers (4) and spaces within words (5) left out.
fn pattern(text: &str, level: usize) -> String {
    let mut runs: Vec<(char, usize)> = Vec::new();
    for class in text.chars().map(class) {
        match runs.last_mut() {
            Some((last, length)) if *last == class => *length += 1,
            _ => runs.push((class, 1)),
        }
    }
    match level {
        1 => runs.iter().map(|(class, length)| format!("{class}{length}")).collect(),
        2 => runs.iter().map(|(class, length)| format!("{class}{}", "+".repeat(length.to_string().len()))).collect(),
        _ => {
            let mut classes: Vec<char> =
                runs.iter().map(|(class, _)| if matches!(class, 'u' | 'l') { 'a' } else { *class }).collect();
            classes.dedup();
            if level >= 4 {
                classes = absorbed(&classes, 'd', 't');
            }
            if level >= 5 {
                classes = absorbed(&classes, 'a', 's');
            }
            classes.into_iter().collect()
        }
    }
}

/// Classes without an inner one, and runs of an outer one that it parted as one.
fn absorbed(classes: &[char], outer: char, inner: char) -> Vec<char> {
    let mut kept: Vec<char> = classes.iter().copied().filter(|class| *class != inner).collect();
    kept.dedup_by(|next, previous| *next == outer && *previous == outer);
    kept
}

/// The class of a character: digit, lower or upper case, space, dot, minus sign, or another one.
fn class(character: char) -> char {
    match character {
        '0'..='9' => 'd',
        _ if character.is_lowercase() => 'l',
        _ if character.is_uppercase() => 'u',
        _ if character.is_whitespace() && !character.is_control() => 's',
        '.' => 't',
        '-' => '-',
        _ => 'y',
    }
}

/// The numbers of a column; a missing cell is NaN.
fn numbers(column: &Column, name: &str) -> Result<Collected<f64>, MapError> {
    let numbers = (0..column.len()).map(|row| {
        column.number(row).ok_or_else(|| {
            let text = column.text(row);
            MapError::Shape(format!("row {} of the column `{name}` is {text:?}, which is no number", row + 1))
        })
    });
    numbers.collect()
}

/// The prediction with these weights. Where some are not given, so many are tried, evenly spread, and those are taken whose
/// predictions are nearest to the cells that are there.
fn best_prediction(
    series: &[f64],
    smoothing: Smoothing,
    season: usize,
    weights: [f64; 3],
    tries: usize,
) -> Result<Vec<f64>, String> {
    // Multiples of these, without their whole parts, fill the unit cube evenly (an additive recurrence).
    const STEPS: [f64; 3] = [0.819_172_513_396_164_4, 0.671_043_606_703_789_3, 0.549_700_477_901_970_4];
    let tries = if weights.iter().any(|weight| weight.is_nan()) { tries } else { 1 };
    let mut best: Option<(f64, Vec<f64>)> = None;
    for attempt in 0..tries {
        check_stop();
        let mut tried = weights;
        for (weight, step) in tried.iter_mut().zip(STEPS).filter(|(weight, _)| weight.is_nan()) {
            *weight = (0.5 + step * attempt as f64).fract();
        }
        let predicted = predicted(series, smoothing, season, tried)?;
        let error = squared_error(series, &predicted);
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, predicted));
        }
    }
    Ok(best.map(|(_, predicted)| predicted).unwrap_or_default())
}

fn squared_error(series: &[f64], predicted: &[f64]) -> f64 {
    let known = series.iter().zip(predicted).filter(|(value, _)| !value.is_nan());
    known.map(|(value, predicted)| (value - predicted) * (value - predicted)).sum()
}

/// Exponential smoothing: of each cell what those before it make expected, and of the first ones themselves. A missing
/// cell counts as what was expected of it.
fn predicted(series: &[f64], smoothing: Smoothing, season: usize, weights: [f64; 3]) -> Result<Vec<f64>, String> {
    let least = match smoothing {
        Smoothing::Level => 1,
        Smoothing::Trend => 2,
        Smoothing::Season => 2 * season,
    };
    if series.len() < least {
        return Err(format!("it has {} cells, and at least {least} are needed", series.len()));
    }
    Ok(match smoothing {
        Smoothing::Level => by_level(series, weights[0]),
        Smoothing::Trend => by_trend(series, weights),
        Smoothing::Season => by_season(series, season, weights),
    })
}

fn or_expected(value: f64, expected: f64) -> f64 {
    if value.is_nan() { expected } else { value }
}

/// The level with each cell, which begins at the first.
fn by_level(series: &[f64], weight: f64) -> Vec<f64> {
    let mut level = series[0];
    let later = series[1..].iter().map(|&value| {
        level = weight * or_expected(value, level) + (1.0 - weight) * level;
        level
    });
    std::iter::once(series[0]).chain(later).collect()
}

/// Level and trend with each cell added up, for the next one; they begin with the first two.
fn by_trend(series: &[f64], [weight, trend_weight, _]: [f64; 3]) -> Vec<f64> {
    let (mut level, mut trend) = (series[1], series[1] - series[0]);
    let mut predicted = vec![series[0], level + trend];
    for &value in &series[2..] {
        let before = level;
        level = weight * or_expected(value, level + trend) + (1.0 - weight) * (level + trend);
        trend = trend_weight * (level - before) + (1.0 - trend_weight) * trend;
        predicted.push(level + trend);
    }
    predicted
}

/// Level, trend and season added up, from the second season on; the first two seasons tell how they begin.
fn by_season(series: &[f64], season: usize, weights: [f64; 3]) -> Vec<f64> {
    let [weight, trend_weight, season_weight] = weights;
    let Beginning { mut level, mut trend, mut seasons } = Beginning::of(&series[..2 * season], season);
    let mut predicted = series[..season].to_vec();
    let mut expected = level + trend + seasons[0];
    predicted.push(expected);
    for (i, &value) in series[season..series.len() - 1].iter().enumerate() {
        let (value, before) = (or_expected(value, expected), level);
        level = weight * (value - seasons[i]) + (1.0 - weight) * (level + trend);
        trend = trend_weight * (level - before) + (1.0 - trend_weight) * trend;
        seasons.push(season_weight * (value - level) + (1.0 - season_weight) * seasons[i]);
        expected = level + trend + seasons[i + 1];
        predicted.push(expected);
    }
    predicted
}

/// Where level, trend and seasons begin: by moving averages over a season.
struct Beginning {
    level: f64,
    trend: f64,
    seasons: Vec<f64>,
}

impl Beginning {
    /// From two seasons.
    fn of(series: &[f64], season: usize) -> Self {
        let share = 1.0 / season as f64;
        // An even season has no middle: half of a cell at either end counts.
        let filter = match season % 2 {
            0 => [&[0.5 * share][..], &vec![share; season - 1], &[0.5 * share]].concat(),
            _ => vec![share; season],
        };
        let windows = series.windows(filter.len());
        let averages: Vec<f64> =
            windows.map(|window| window.iter().zip(&filter).map(|(value, factor)| value * factor).sum()).collect();
        let first = filter.len() / 2;
        let distances: Vec<f64> = averages.iter().enumerate().map(|(i, average)| series[first + i] - average).collect();
        let mut seasons = vec![0.0; season];
        for i in 0..season {
            let all = [Some(distances[i]), distances.get(i + season).copied()];
            let all: Vec<f64> = all.into_iter().flatten().collect();
            seasons[(i + season / 2) % season] = all.iter().sum::<f64>() / all.len() as f64;
        }
        let mean = seasons.iter().sum::<f64>() / season as f64;
        seasons.iter_mut().for_each(|value| *value -= mean);
        let (level, trend) = line(&averages);
        Beginning { level, trend, seasons }
    }
}

/// Intercept and slope of the line nearest to values at 1, 2, ...
fn line(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let (middle, mean) = (0.5 * (count + 1.0), values.iter().sum::<f64>() / count);
    let distances = (0..values.len()).map(|i| i as f64 + 1.0 - middle);
    let squares: f64 = distances.clone().map(|distance| distance * distance).sum();
    let products: f64 = values.iter().zip(distances).map(|(value, distance)| distance * (value - mean)).sum();
    // A single value has no slope.
    let slope = if squares == 0.0 { 0.0 } else { products / squares };
    (mean - slope * middle, slope)
}
