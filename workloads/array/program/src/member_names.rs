//! Names of `.npz` members that are safe to unpack.

use std::collections::HashSet;

/// The names under which arrays are written, in their order: a name that leads out of the folder a
/// file is unpacked into loses the steps that do (`../a` becomes `a`).
///
/// # Errors
/// If two arrays would get one name: both, and that name.
pub(crate) fn member_names(names: &[String]) -> Result<Vec<String>, [String; 3]> {
    let kept: HashSet<&str> = names.iter().map(String::as_str).collect();
    let mut written: Vec<String> = Vec::with_capacity(names.len());
    let mut changed: Vec<(&String, String)> = Vec::new();
    for name in names {
        let safe = safe_name(name);
        if safe != *name {
            let taken = changed.iter().find(|(_, other)| *other == safe);
            if let Some(other) = taken
                .map(|(other, _)| other.as_str())
                .or(kept.get(safe.as_str()).copied())
            {
                return Err([name.clone(), other.to_owned(), safe]);
            }
            changed.push((name, safe.clone()));
        }
        written.push(safe);
    }
    Ok(written)
}

/// The name without steps that lead to the root or upwards, on any system.
fn safe_name(name: &str) -> String {
    let is_step = |part: &&str| !matches!(*part, "" | "." | "..");
    let leads_out = name
        .split(['/', '\\'])
        .any(|part| matches!(part, "." | ".."))
        || name.starts_with(['/', '\\']);
    if !leads_out {
        return name.to_owned();
    }
    let parts: Vec<&str> = name.split(['/', '\\']).filter(is_step).collect();
    match parts.is_empty() {
        true => "_".to_owned(),
        false => parts.join("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_out_of_a_folder_are_written_without_the_way() {
        for (name, safe) in [
            ("a", "a"),
            ("a/b", "a/b"),
            ("a..b", "a..b"),
            ("back\\slash", "back\\slash"),
            ("../a", "a"),
            ("../../etc/x", "etc/x"),
            ("a/../../b", "a/b"),
            ("/etc/x", "etc/x"),
            ("..\\x", "x"),
            ("..", "_"),
        ] {
            assert_eq!(safe_name(name), safe);
        }
        let names =
            |names: &[&str]| member_names(&names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>());
        assert_eq!(
            names(&["../a", "b"]),
            Ok(vec!["a".to_owned(), "b".to_owned()])
        );
        assert!(names(&["../a", "a"]).is_err());
        assert!(names(&["a", "../a"]).is_err());
        assert!(names(&["../a", "/a"]).is_err());
    }
}
