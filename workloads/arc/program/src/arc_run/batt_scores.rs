//! `batt_scores.parquet`: the candidates of each task from the best to the worst.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use super::ProgramRow;
use super::samples::{numbers_by_name, read_programs, read_sample_names};
use super::tally::{Mark, tally};
use swathe_run::record;
use swathe_run::store::record::SideTable;
use swathe_run::store::run_folder::FolderError;

/// The candidates of each task, the best first.
pub(super) const BATT_SCORES: SideTable<BattScoreRow> =
    SideTable::new("batt_scores", "the row's number, from 0");

record! {
    /// How a candidate did at a task.
    pub(super) struct BattScoreRow / BattScoreColumns: of(score: &BattScore, program: &ProgramRow) {
        /// the task's name
        task: String = score.task.clone();
        /// the candidate's rank at the task, from 1: by batt_score, score, fewer statements, name; of those without a right sample only the first 32 of a task are here
        rank: u32 = score.rank;
        /// the file of the candidate
        file: String = program.file.clone();
        /// its id: the task of its row in o, or what follows solve_ in its name
        candidate: String = program.candidate.clone();
        /// the programs of the file that have this id
        programs: u32 = score.n_programs;
        /// the best of them
        program: String = program.name.clone();
        /// its calls, nested ones included
        statements: u64 = program.n_statements;
        /// as run_batt scores it: 1000 for each sample that is right, demonstrations and tests alike, summed over the programs with this id
        batt_score: u64 = score.batt_score;
        /// the best program's mean graded score over the demonstrations
        score: f64 = score.score;
    }
}

/// How the candidate of one id did at one task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BattScore {
    pub(crate) task: String,
    /// From 1, the best.
    pub(crate) rank: u32,
    /// The number of the best of the programs with this id.
    pub(crate) program: u32,
    pub(crate) n_programs: u32,
    /// 1000 for each sample that is right, summed over the programs with this id.
    pub(crate) batt_score: u64,
    /// The best program's mean graded score over the demonstrations.
    pub(crate) score: f64,
}

/// Candidates that get no sample right are listed up to this rank.
const N_WRONG_MAX: usize = 32;

/// The candidates of each task of a complete run, the best first: by score, graded score, fewer statements, name.
/// Programs of one file with one id are one candidate, as in `run_batt`.
pub(crate) fn batt_scores(
    run: &Path,
    programs: &[ProgramRow],
) -> Result<Vec<BattScore>, FolderError> {
    let mut n_demonstrations: HashMap<String, u32> = HashMap::new();
    for sample in read_sample_names(run)?.into_iter().filter(|s| !s.is_test) {
        *n_demonstrations.entry(sample.task).or_default() += 1;
    }
    let mut scores = Vec::new();
    tally(run, &numbers_by_name(programs), |calls| {
        let n_train = n_demonstrations.get(calls.task).copied().unwrap_or(0);
        let mean = |mark: &Mark| mark.score_sum / f64::from(n_train.max(1));
        let mut of_task: HashMap<(&str, &str), BattScore> = HashMap::new();
        for &number in calls.programs {
            let (program, mark) = (&programs[number as usize], &calls.marks[number as usize]);
            let batt_score = 1000 * u64::from(mark.n_right + mark.n_tests_right);
            let own = BattScore {
                task: calls.task.to_owned(),
                rank: 0,
                program: number,
                n_programs: 0,
                batt_score: 0,
                score: mean(mark),
            };
            let key = (program.file.as_str(), program.candidate.as_str());
            let candidate = of_task.entry(key).or_insert_with(|| own.clone());
            candidate.n_programs += 1;
            candidate.batt_score += batt_score;
            if mean(mark) > candidate.score {
                (candidate.program, candidate.score) = (own.program, own.score);
            }
        }
        let mut ranked: Vec<BattScore> = of_task.into_values().collect();
        ranked.sort_by(|a, b| {
            let size = |score: &BattScore| {
                let program = &programs[score.program as usize];
                (program.n_statements, &program.name, &program.file)
            };
            (Reverse(a.batt_score).cmp(&Reverse(b.batt_score)))
                .then(b.score.total_cmp(&a.score))
                .then_with(|| size(a).cmp(&size(b)))
        });
        let kept = (1..).zip(ranked);
        let kept = kept.take_while(|(rank, of)| *rank as usize <= N_WRONG_MAX || of.batt_score > 0);
        scores.extend(kept.map(|(rank, of)| BattScore { rank, ..of }));
    })?;
    Ok(scores)
}

/// Writes `batt_scores.parquet` of a complete run.
///
/// # Errors
/// If a table of the run cannot be read, or this one cannot be written.
pub fn write_batt_scores(run: &Path) -> Result<(), FolderError> {
    let programs = read_programs(run)?;
    let scores = batt_scores(run, &programs)?;
    let rows =
        scores.iter().map(|score| BattScoreRow::of(score, &programs[score.program as usize]));
    BATT_SCORES.write(run, &rows.collect::<Vec<_>>())
}
