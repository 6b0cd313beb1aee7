//! The axes of stacks: which of the images in a file are the frames of a series.

use std::fmt::Write as _;

/// Which images of a stack are frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AxisChoice {
    /// The channel to take, from 0.
    pub channel: Option<usize>,
    /// The axis that is time: a letter, or a number from 0 where axes have no names.
    pub time_axis: Option<String>,
    /// The slice to take along Z, from 0.
    pub z_slice: Option<usize>,
}

/// Why the images of a file are not frames of a series.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source_name} says {axes}; {advice}")]
pub struct StackFault {
    /// What describes the stack.
    pub source_name: &'static str,
    /// The description.
    pub axes: String,
    /// What to do.
    pub advice: String,
}

/// The axes of a stack, without height and width, the slowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StackAxes {
    /// What says so, such as `ImageJ's metadata`.
    pub(super) source: &'static str,
    pub(super) axes: Vec<Axis>,
}

/// One axis of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// `T`, `Z`, `C` and other letters; `None` for an axis without a name.
    pub(super) name: Option<char>,
    pub(super) n: usize,
}

impl StackAxes {
    /// A sequence of images of which nothing else is known.
    pub(super) fn sequence(source: &'static str, n: usize) -> StackAxes {
        let axes = vec![Axis { name: None, n }];
        StackAxes { source, axes }
    }

    /// How many images there are; `None` if there are too many to count.
    pub(super) fn n_images(&self) -> Option<usize> {
        let sizes = self.axes.iter();
        sizes.map(|axis| axis.n).try_fold(1usize, usize::checked_mul)
    }

    /// The numbers of the images that are frames, in order of time.
    ///
    /// # Errors
    /// If an axis is neither time nor chosen along, or a choice does not exist.
    pub(super) fn frames(&self, choice: &AxisChoice) -> Result<Vec<usize>, StackFault> {
        let time = self.time_place(choice)?;
        let mut first = 0;
        let mut stride = 1;
        let mut time_stride = 0;
        let mut unchosen = Vec::new();
        for (place, axis) in self.axes.iter().enumerate().rev() {
            if Some(place) == time {
                time_stride = stride;
            } else {
                let chosen = match axis.name {
                    Some('C') => choice.channel,
                    Some('Z') => choice.z_slice,
                    // With time known, the only other axis without a name is that of channels.
                    None if self.n_long_unnamed(time) == 1 => choice.channel,
                    _ => None,
                };
                match chosen {
                    Some(n) if n < axis.n => first += n * stride,
                    Some(n) => {
                        return Err(self
                            .fault(format!("there is no number {n} along {}", axis.text(place))));
                    }
                    None if axis.n == 1 => {}
                    None => unchosen.push((place, *axis)),
                }
            }
            stride *= axis.n;
        }
        if !unchosen.is_empty() {
            return Err(self.fault(self.advice(&unchosen)));
        }
        let n_frames = time.map_or(1, |place| self.axes[place].n);
        Ok((0..n_frames).map(|t| first + t * time_stride).collect())
    }

    /// The place of the axis that is time; `None` if there is one image only.
    fn time_place(&self, choice: &AxisChoice) -> Result<Option<usize>, StackFault> {
        let Some(wanted) = &choice.time_axis else {
            let by_name = self.axes.iter().position(|axis| axis.name == Some('T') && axis.n > 1);
            let long = self.axes.iter().enumerate().filter(|(_, axis)| axis.n > 1);
            let mut unnamed = long.filter(|(_, axis)| axis.name.is_none());
            return Ok(match (by_name, unnamed.next(), unnamed.next()) {
                (Some(place), ..) => Some(place),
                (None, Some((place, _)), None) => Some(place),
                _ => None,
            });
        };
        let found = match wanted.parse::<usize>() {
            Ok(place) => Some(place).filter(|place| *place < self.axes.len()),
            Err(_) => self.axes.iter().position(|axis| {
                axis.name.is_some_and(|name| wanted.eq_ignore_ascii_case(&name.to_string()))
            }),
        };
        match found {
            Some(place) => Ok(Some(place)),
            None => Err(self.fault(format!("there is no axis {wanted} for --time-axis"))),
        }
    }

    /// How many axes without a name are longer than one, but for that of time.
    fn n_long_unnamed(&self, time: Option<usize>) -> usize {
        let others = self.axes.iter().enumerate().filter(|(place, _)| Some(*place) != time);
        others.filter(|(_, axis)| axis.name.is_none() && axis.n > 1).count()
    }

    fn advice(&self, unchosen: &[(usize, Axis)]) -> String {
        let mut advice = String::new();
        for (place, axis) in unchosen {
            let last = axis.n - 1;
            let text = match axis.name {
                Some('C') => format!("choose one of the channels with --channel 0 to {last}"),
                Some('Z') => format!(
                    "take one slice with --z-slice 0 to {last}, or slices as time with --time-axis Z"
                ),
                Some(name) => format!("if axis {name} is time, say --time-axis {name}"),
                None if self.n_long_unnamed(None) > 1 => {
                    format!(
                        "say which axis is time, as in --time-axis {place}, and choose along the other with --channel"
                    )
                }
                None => format!("if axis {place} is time, say --time-axis {place}"),
            };
            if advice.contains("which axis is time") {
                continue;
            }
            let _ = write!(advice, "{}{text}", if advice.is_empty() { "" } else { "; " });
        }
        advice
    }

    fn fault(&self, advice: String) -> StackFault {
        let long = self.axes.iter().enumerate().filter(|(_, axis)| axis.n > 1);
        let axes: Vec<String> = long.map(|(place, axis)| axis.text(place)).collect();
        StackFault {
            source_name: self.source,
            axes: if axes.is_empty() { "one image".to_owned() } else { axes.join(", ") },
            advice,
        }
    }
}

impl Axis {
    fn text(self, place: usize) -> String {
        let n = self.n;
        match self.name {
            Some('T') => format!("{n} time steps (T)"),
            Some('Z') => format!("{n} slices (Z)"),
            Some('C') => format!("{n} channels (C)"),
            Some(name) => format!("{n} images along {name}"),
            None => format!("{n} images along axis {place}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(axes: &[(&str, usize)]) -> StackAxes {
        let axes = axes.iter().map(|(name, n)| Axis { name: name.chars().next(), n: *n });
        StackAxes { source: "the test", axes: axes.collect() }
    }

    fn choice(text: &str) -> AxisChoice {
        let mut choice = AxisChoice::default();
        for word in text.split_whitespace() {
            match word.split_once('=').unwrap() {
                ("c", n) => choice.channel = n.parse().ok(),
                ("z", n) => choice.z_slice = n.parse().ok(),
                (_, axis) => choice.time_axis = Some(axis.to_owned()),
            }
        }
        choice
    }

    #[test]
    fn frames_are_the_images_along_time() {
        let check = |axes: &[(&str, usize)], chosen: &str, frames: &[usize]| {
            assert_eq!(stack(axes).frames(&choice(chosen)).unwrap(), frames, "{axes:?} {chosen}");
        };
        check(&[("", 3)], "", &[0, 1, 2]);
        check(&[("T", 3)], "", &[0, 1, 2]);
        check(&[("T", 3), ("C", 2)], "c=1", &[1, 3, 5]);
        check(&[("T", 2), ("Z", 3), ("C", 2)], "c=1 z=2", &[5, 11]);
        check(&[("T", 1), ("Z", 3), ("C", 2)], "c=0 t=z", &[0, 2, 4]);
        check(&[("T", 1), ("Z", 1), ("C", 1)], "", &[0]);
        check(&[("", 2), ("", 3)], "t=1 c=1", &[3, 4, 5]);
        check(&[("C", 2)], "c=1", &[1]);
    }

    #[test]
    fn what_is_not_plain_time_is_refused_with_its_axes() {
        let check = |axes: &[(&str, usize)], chosen: &str, told: &[&str]| {
            let error = stack(axes).frames(&choice(chosen)).unwrap_err().to_string();
            for part in told {
                assert!(error.contains(part), "{axes:?} {chosen}: {error}");
            }
        };
        check(&[("Z", 5)], "", &["5 slices (Z)", "--time-axis Z"]);
        check(&[("T", 4), ("C", 2)], "", &["4 time steps (T), 2 channels (C)", "--channel 0 to 1"]);
        check(&[("T", 4), ("C", 2)], "c=2", &["no number 2 along 2 channels"]);
        check(&[("", 4), ("", 2)], "", &["4 images along axis 0", "which axis is time"]);
        check(&[("T", 4)], "t=Z", &["no axis Z"]);
    }
}
