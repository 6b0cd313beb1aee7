//! Names of `.npz` members that are safe to extract.

use std::borrow::Cow;
use std::sync::Arc;

use swathe_formats::name_list::{Duplicate, NameIndex, NameList};

/// The names under which arrays are written, in their order. Path components that lead out of the
/// target folder are removed (`../a` becomes `a`).
///
/// # Errors
/// If two arrays would get the same name: returns the two names and the common one.
pub(crate) fn member_names(names: &Arc<NameList>) -> Result<Arc<NameList>, [String; 3]> {
    if names.iter().all(|name| safe_name(name) == name) {
        return Ok(Arc::clone(names));
    }
    let written: NameList = names.iter().map(safe_name).collect();
    match NameIndex::of(&written) {
        Ok(_) => Ok(Arc::new(written)),
        Err(Duplicate { first, second }) => {
            let both = [&names[first], &names[second], &written[first]];
            Err(both.map(str::to_owned))
        }
    }
}

/// The name without components that lead to the root or upwards, on any system.
fn safe_name(name: &str) -> Cow<'_, str> {
    let is_step = |part: &&str| !matches!(*part, "" | "." | "..");
    let leads_out = name.split(['/', '\\']).any(|part| matches!(part, "." | ".."))
        || name.starts_with(['/', '\\']);
    if !leads_out {
        return Cow::Borrowed(name);
    }
    let parts: Vec<&str> = name.split(['/', '\\']).filter(is_step).collect();
    match parts.is_empty() {
        true => Cow::Borrowed("_"),
        false => Cow::Owned(parts.join("/")),
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
        let names = |names: &[&str]| member_names(&Arc::new(names.iter().collect()));
        let written: NameList = ["a", "b"].into_iter().collect();
        assert_eq!(names(&["../a", "b"]), Ok(Arc::new(written)));
        assert!(names(&["../a", "a"]).is_err());
        assert!(names(&["a", "../a"]).is_err());
        assert!(names(&["../a", "/a"]).is_err());
    }
}
