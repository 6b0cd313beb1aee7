//! Where settings come from, as `swathe config` and errors tell.

use std::fs;

use crate::program::{command, many_floats, swathe, swathe_with};

/// Name, value and origin of each setting that `swathe config` shows.
fn shown(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('['));
    let split = lines.map(|line| line.split_once(' ').expect("a name and the rest"));
    split.map(|(name, rest)| (name.to_owned(), rest.trim().to_owned())).collect()
}

#[test]
fn a_command_is_shown_with_its_own_settings() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let of = |line: &str| shown(&swathe(folder, line).expect(0).stdout);
    let value = |settings: &[(String, String)], name: &str| {
        let found = settings.iter().find(|setting| setting.0 == name);
        found.map(|setting| setting.1.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let run = of("config ot");
    assert_eq!(value(&run, "normalize").as_deref(), Some("true default"));
    assert_eq!(value(&run, "epsilon").as_deref(), Some("auto default"));
    assert_eq!(value(&run, "raw-velocity").as_deref(), Some("false default"));
    assert_eq!(value(&run, "label").as_deref(), Some("not set default"));
    for other in ["series", "blur", "frames", "pairs", "no-normalize", "output", "json"] {
        assert_eq!(value(&run, other), None, "{other} is of another command");
    }
    let suggest = of("config ot suggest");
    assert_eq!(value(&suggest, "pairs").as_deref(), Some("4 default"));
    assert_eq!(value(&suggest, "coupling"), None);
    let all = swathe(folder, "config array").expect(0).stdout;
    for verb in ["[array xor]", "[array matmul]", "[array map]"] {
        assert!(all.contains(verb), "{all}");
    }
    assert_eq!(value(&of("config array map"), "key"), None);
    assert_eq!(value(&of("config array xor"), "key").as_deref(), Some("not set default"));
    fs::write(folder.join("swathe.toml"), "[ot]\nno-normalize = true\n").unwrap();
    let origin = "false no-normalize in swathe.toml";
    assert_eq!(value(&of("config ot"), "normalize").as_deref(), Some(origin));
    for (line, told) in [
        ("config sheep", "there is no workload 'sheep'"),
        ("config ot shear", "there is no command of ot 'shear'"),
    ] {
        let ended = swathe(folder, line).expect(2);
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
}

#[test]
fn every_setting_has_a_variable() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for line in ["config ot", "config arc", "config array xor", "config lattice path"] {
        let names = shown(&swathe(folder, line).expect(0).stdout);
        let mut config = command(folder, line);
        for (name, value) in &names {
            let value = match name.as_str() {
                "memory" | "gpu-memory" => "1GiB",
                "augment" => "all",
                // What depends on the machine stands in words.
                _ => match value.split_whitespace().collect::<Vec<_>>()[..] {
                    [default, "default"] => default,
                    _ => "1",
                },
            };
            config.env(format!("SWATHE_{}", name.replace('-', "_").to_uppercase()), value);
        }
        let ended = crate::program::Ended::of(config.output().unwrap()).expect(0);
        assert_eq!(ended.stderr, "");
        let set = shown(&ended.stdout);
        assert_eq!(set.len(), names.len());
        for (name, rest) in set {
            let variable = format!("SWATHE_{}", name.replace('-', "_").to_uppercase());
            assert!(rest.ends_with(&variable), "{name}: {rest}");
        }
    }
}

#[test]
fn a_wrong_value_is_told_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    many_floats(folder);
    fs::write(folder.join("pairs.csv"), "pair_id,src,tgt\nx,a.npy,b.npy\n").unwrap();
    for (variable, value, line, told) in [
        (
            "SWATHE_NORMALIZE",
            "perhaps",
            "ot pairs.csv --out run",
            "error: SWATHE_NORMALIZE is 'perhaps', which is not true or false\nhint: write true or false",
        ),
        (
            "SWATHE_MEMORY",
            "5",
            "config array map",
            "error: SWATHE_MEMORY is '5', which is not a memory size\nhint: write the unit too",
        ),
        (
            "SWATHE_PAIRING",
            "some",
            "arc --programs a.py --tasks b.json --out run",
            "error: SWATHE_PAIRING is 'some', which is not all or own",
        ),
    ] {
        let ended = swathe_with(folder, variable, value, line).expect(2);
        assert!(ended.stderr.starts_with(told), "{}", ended.stderr);
    }
    fs::write(folder.join("swathe.toml"), "[array]\ntime-limit = 5\n").unwrap();
    let map = "array map sqrt in.npz --out run";
    let ended = swathe(folder, map).expect(2);
    let told = "error: time-limit in swathe.toml is '5', which is not a time\nhint: write the unit";
    assert!(ended.stderr.starts_with(told), "{}", ended.stderr);
    // A layer below is not looked at.
    swathe(folder, &format!("{map} --time-limit 5s")).expect(0);
    let check = "ot check a.npy b.npy --plan p.npz --epsilon 1e-3 --relaxation 10";
    let ended = swathe_with(folder, "SWATHE_EPSILON", "small", check).expect(2);
    assert!(ended.stderr.starts_with("error: a.npy"), "{}", ended.stderr);
    let synth = "ot synth --series 1 --frames 2 --shape 16x16 --out made";
    swathe_with(folder, "SWATHE_MEMORY", "lots", synth).expect(0);
    let ended = swathe_with(folder, "SWATHE_BACKGROUND", "dark", check).expect(2);
    let told = "error: SWATHE_BACKGROUND is 'dark', which is not a level";
    assert!(ended.stderr.starts_with(told), "{}", ended.stderr);
}

#[test]
fn a_typo_in_the_file_is_told_with_the_name_that_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (text, hint) in [
        ("memmory = \"1GiB\"", "hint: did you mean 'memory'?"),
        ("[ot]\nmax_iterations = 5", "hint: did you mean 'max-iterations'?"),
        ("[arc]\nparing = \"own\"", "hint: did you mean 'pairing'?"),
        ("[lattice]\nqqq = 1", "hint: it may have device, "),
    ] {
        fs::write(folder.join("swathe.toml"), text).unwrap();
        let ended = swathe(folder, "config").expect(2);
        assert!(ended.stderr.contains(hint), "{text}: {}", ended.stderr);
    }
}
