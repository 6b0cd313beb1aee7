//! The symbol versions that an ELF file needs from other libraries.

/// The names of the versions in the section `.gnu.version_r` of a 64-bit little-endian ELF file, in
/// order and without repetitions; `None` if it is no such file, or damaged.
pub(super) fn needed_versions(file: &[u8]) -> Option<Vec<String>> {
    const SHT_GNU_VERNEED: u64 = 0x6fff_fffe;
    if file.get(..6)? != [0x7f, b'E', b'L', b'F', 2, 1] {
        return None;
    }
    let (sections, size, n) = (at(file, 0x28, 8)?, at(file, 0x3a, 2)?, at(file, 0x3c, 2)?);
    let section = |number: u64| -> Option<Section> {
        let start = sections.checked_add(number.checked_mul(size)?)? as usize;
        Some(Section {
            kind: at(file, start + 4, 4)?,
            offset: at(file, start + 0x18, 8)? as usize,
            link: at(file, start + 0x28, 4)?,
            info: at(file, start + 0x2c, 4)?,
        })
    };
    let mut names = Vec::new();
    for number in 0..n {
        let needs = section(number)?;
        if needs.kind != SHT_GNU_VERNEED {
            continue;
        }
        let texts = section(needs.link)?.offset;
        // A record for each library, and in it a chain of records of versions.
        let mut library = needs.offset;
        for _ in 0..needs.info {
            let n_versions = at(file, library + 2, 2)?;
            let mut version = library.checked_add(at(file, library + 8, 4)? as usize)?;
            for _ in 0..n_versions {
                let start = texts.checked_add(at(file, version + 8, 4)? as usize)?;
                let text = file.get(start..)?.split(|&byte| byte == 0).next()?;
                names.push(String::from_utf8_lossy(text).into_owned());
                version = version.checked_add(at(file, version + 12, 4)? as usize)?;
            }
            library = library.checked_add(at(file, library + 12, 4)? as usize)?;
        }
    }
    names.sort();
    names.dedup();
    Some(names)
}

struct Section {
    kind: u64,
    offset: usize,
    /// For version records: the section of their texts.
    link: u64,
    /// For version records: the number of libraries.
    info: u64,
}

/// A little-endian number of some bytes.
fn at(file: &[u8], start: usize, n_bytes: usize) -> Option<u64> {
    let bytes = file.get(start..start.checked_add(n_bytes)?)?;
    Some(bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
}
