//! The commands as users type them: every file of `tests/cases` is a test.
//!
//! `transcript.rs` says what stands in a case, `vocabulary.rs` which commands it has beside those of
//! a shell.

mod arrays;
mod files;
pub(crate) mod frames;
pub(crate) mod resident;
pub(crate) mod tables;
pub(crate) mod transcript;
pub(crate) mod vocabulary;

/// Makes a test of every case, and the list of all names.
macro_rules! cases {
    ($($folder:ident { $($name:ident)* })*) => {
        const CASES: &[&str] = &[$($(concat!(stringify!($folder), "/", stringify!($name)),)*)*];

        $(mod $folder {
            $(#[test]
            fn $name() {
                crate::cases::transcript::check(concat!(stringify!($folder), "/", stringify!($name)));
            })*
        })*
    };
}

cases! {
    arc {
        augment bad_programs bad_tasks bad_usage batt batt_failures combine explain extend
        extend_batt forms harvest help limits profile sameness save save_later show submissions
        votes
    }
    array {
        bad_members cut_files folders_as_inputs formats help names nan numpy operands results
        sameness xor
    }
    gpu {
        devices forced lost none placement
    }
    lattice {
        bad_usage borrowed borrowed_lengths flags help sameness table
    }
    memory {
        arrays files grids many_items
    }
    ot {
        background bad_pairs bad_usage check check_usage columns damaged_maps empty_frames
        epsilon epsilon_range formats full_disk help missing_frames motion motion_doubt
        not_converged runs sameness settings show suggest suggest_inputs suggest_neighbours
        suggest_usage synth
    }
    runs {
        bench compare config damage damaged_parts failures fifos full_disk links long_inputs
        lost_manifest odd_folders other_settings outputs replay replay_settings report select
        shards threads
    }
    usage {
        bad_usage control_characters explain help no_rows precedence program_alone progress
        streams watch
    }
}

#[test]
fn every_case_is_in_the_list() {
    let mut found = Vec::new();
    for folder in std::fs::read_dir(transcript::cases()).unwrap() {
        let folder = folder.unwrap().path();
        for file in std::fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "case") {
                let of = |path: &std::path::Path| path.file_stem().unwrap().display().to_string();
                found.push(format!("{}/{}", of(&folder), of(&path)));
            }
        }
    }
    let mut listed = CASES.to_vec();
    found.sort();
    listed.sort_unstable();
    assert_eq!(found, listed, "tests/cases, and the list in crates/swathe-cli/tests/cli/cases.rs");
}
