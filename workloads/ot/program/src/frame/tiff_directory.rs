//! A check of the first directory of a TIFF file. It comes before the decoder is created, because
//! the decoder allocates memory for the directory's lists before it can be given limits.

use std::io::{BufReader, Read, Seek, SeekFrom};

use super::FrameError;

/// Fails if a list of the first directory claims more bytes than the file has. A file that is not a
/// TIFF file passes; the decoder rejects it.
pub(super) fn check_first(file: &mut (impl Read + Seek), n_bytes: u64) -> Result<(), FrameError> {
    let too_long =
        longest_list_bytes(&mut BufReader::new(&mut *file)).is_ok_and(|longest| longest > n_bytes);
    file.seek(SeekFrom::Start(0)).map_err(FrameError::Io)?;
    if too_long {
        return Err(FrameError::Image {
            message: "not a sound TIFF file: a list in it is longer than the file".to_owned(),
        });
    }
    Ok(())
}

/// The bytes of the longest list that an entry of the first directory points at.
fn longest_list_bytes(file: &mut (impl Read + Seek)) -> std::io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    let start: [u8; 4] = array(file)?;
    let is_little = start[0] == b'I';
    let number = |bytes: &[u8]| {
        let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        if is_little {
            bytes.iter().rev().fold(0, fold)
        } else {
            bytes.iter().fold(0, fold)
        }
    };
    let is_big = number(&start[2..4]) == 43;
    let offset = if is_big {
        file.seek(SeekFrom::Start(8))?;
        number(&array::<8>(file)?)
    } else {
        number(&array::<4>(file)?)
    };
    file.seek(SeekFrom::Start(offset))?;
    let n_entries = if is_big {
        number(&array::<8>(file)?)
    } else {
        number(&array::<2>(file)?)
    };
    let mut longest = 0;
    // Directories have a dozen entries. If one claims millions, reading fails at the file's end.
    for _ in 0..n_entries {
        let (kind, count) = if is_big {
            let entry: [u8; 20] = array(file)?;
            (number(&entry[2..4]), number(&entry[4..12]))
        } else {
            let entry: [u8; 12] = array(file)?;
            (number(&entry[2..4]), number(&entry[4..8]))
        };
        let element_bytes = match kind {
            1 | 2 | 6 | 7 => 1,
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 | 16 | 17 | 18 => 8,
            // The decoder skips types that it does not know.
            _ => continue,
        };
        longest = longest.max(count.saturating_mul(element_bytes));
    }
    Ok(longest)
}

fn array<const N: usize>(file: &mut impl Read) -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
